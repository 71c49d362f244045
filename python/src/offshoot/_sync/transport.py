# Generated from _async by tools/generate.py. Do not edit.
"""Requests with retries, and streams of events."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

from .._config import SILENCE_SECONDS, Config
from .._retry import delay_before, is_retried
from .._sse import ServerSentEvent, SseParser
from .._undo import SECONDS, paths_of
from .._values import QueryValue, query_string
from ..errors import APIError, ConflictError, ConnectionError, NotFoundError, OffshootError, TimeoutError, error_of
from . import _platform

CONNECT_SECONDS = 15.0
NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""After these the server has certainly got nothing."""

Content = Callable[[], Iterator[bytes]]
"""A body that can be produced again for another attempt."""


class Transport:
    """One connection pool with the options of a client."""

    def __init__(self, config: Config, http_client: _platform.HttpClient | None = None) -> None:
        self.config = config
        self._owned = http_client is None
        self._background = _platform.Background()
        # A search over forks has many streams open at the same time.
        limits = httpx.Limits(max_connections=256, max_keepalive_connections=32, keepalive_expiry=30.0)
        self._http = http_client or _platform.make_http_client(limits=limits, follow_redirects=False)

    def close(self) -> None:
        self._background.wait()
        if self._owned:
            _platform.close_http_client(self._http)

    def json(self, method: str, path: str, **options: Any) -> Any:
        """The JSON value of the answer; ``None`` for an answer without a body."""
        response = self.request(method, path, **options)
        return json.loads(response.content) if response.content else None

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        body: object = None,
        content: bytes | Content | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        idempotent: bool | None = None,
        creates: bool = False,
        idempotency_key: str | None = None,
    ) -> httpx.Response:
        """Sends a request and reads the whole answer.

        :param idempotent: whether carrying it out twice equals once. Default: not if the method is POST or PATCH.
        :param creates: sends an idempotency key, which makes the request idempotent
        :param timeout: seconds to wait for the answer
        """
        sent = {**(headers or {})}
        if creates:
            sent["idempotency-key"] = idempotency_key or str(uuid.uuid4())
        repeatable = creates or (method not in ("POST", "PATCH") if idempotent is None else idempotent)
        try:
            return self._send(
                method,
                path + query_string(query or {}),
                content=content,
                body=body,
                headers=sent,
                read_seconds=timeout or self.config.timeout,
                repeatable=repeatable,
            )
        except BaseException as error:
            # A key of the caller may be that of another call, too, which wants what was made.
            if creates and idempotency_key is None and _may_have_begun(error):
                self._background.start(lambda: self._undo(path, body, sent))
            raise

    def _undo(self, path: str, body: object, headers: Mapping[str, str]) -> None:
        """Deletes what a create has made that ended without an answer, and makes sure that it makes nothing later. The
        server says by the key of the request what it has made.
        """
        sent = {**headers, "idempotency-cancel": "true"}
        end = time.monotonic() + SECONDS
        while True:
            try:
                response = self._send(
                    "POST", path, content=None, body=body, headers=sent, read_seconds=SECONDS, repeatable=True
                )
                break
            except ConflictError as error:
                # The first request is still under way after a minute, or it was cancelled.
                if "has not finished" not in error.error or time.monotonic() > end:
                    return
                _platform.sleep(1)
            except OffshootError:
                # What is left ends with its lifetime.
                return
        for made in paths_of(path, json.loads(response.content)):
            try:
                self.request("DELETE", made)
            except OffshootError:
                pass

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        silence: float = SILENCE_SECONDS,
        repeatable: bool | None = None,
    ) -> httpx.Response:
        """Sends a request and returns before the body. The caller closes the response."""
        return self._send(
            method,
            path + query_string(query or {}),
            content=None,
            body=body,
            headers=headers or {},
            read_seconds=silence,
            repeatable=method == "GET" if repeatable is None else repeatable,
            is_stream=True,
        )

    def _send(
        self,
        method: str,
        path: str,
        *,
        content: bytes | Content | None,
        body: object,
        headers: Mapping[str, str],
        read_seconds: float,
        repeatable: bool,
        is_stream: bool = False,
    ) -> httpx.Response:
        sent = {**self.config.headers, **headers}
        if body is not None:
            content = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        attempt = 0
        while True:
            response: httpx.Response | None = None
            failure: ConnectionError | APIError
            retry_after = None
            try:
                response = self._http.send(
                    self._http.build_request(
                        method,
                        self.config.base_url + path,
                        content=content() if callable(content) else content,
                        headers=sent,
                        timeout=httpx.Timeout(read_seconds, connect=CONNECT_SECONDS),
                    ),
                    stream=True,
                )
                if response.status_code < 400:
                    if not is_stream:
                        _platform.read_response(response)
                    return response
                failure = _refusal(response, method, path)
                # An earlier attempt has deleted it, and its answer was lost.
                if attempt > 0 and method == "DELETE" and isinstance(failure, NotFoundError):
                    return response
                retry_after = response.headers.get("retry-after")
                may_repeat = is_retried(failure.status, repeatable=repeatable)
            except httpx.TransportError as reason:
                if response is not None:
                    _platform.close_response(response)
                failure = _connection_error(reason, method, path)
                may_repeat = repeatable or isinstance(reason, NEVER_ARRIVED)
                if isinstance(reason, httpx.UnsupportedProtocol):
                    may_repeat = False
            except BaseException:
                if response is not None:
                    _platform.close_response(response)
                raise
            attempt += 1
            delay = delay_before(attempt, retry_after)
            if not may_repeat or attempt > self.config.max_retries or delay is None:
                raise failure
            _platform.sleep(delay)

    def events(self, response: httpx.Response) -> Iterator[ServerSentEvent]:
        """The events of a stream. Closes it when the iterator ends.

        :raises ConnectionError: the connection broke
        """
        parser = SseParser()
        try:
            for data in _platform.iterate_bytes(response):
                for event in parser.feed(data):
                    yield event
        except httpx.TransportError as reason:
            request = response.request
            raise _connection_error(reason, request.method, request.url.path) from reason
        except ValueError as reason:
            raise ConnectionError(f"the stream is not understood: {reason}") from reason
        finally:
            _platform.close_response(response)

    def blocks(self, response: httpx.Response) -> Iterator[bytes]:
        """The bytes of an answer. Closes it when the iterator ends.

        :raises ConnectionError: the connection broke
        """
        try:
            for data in _platform.iterate_bytes(response):
                yield data
        except httpx.TransportError as reason:
            raise _connection_error(reason, response.request.method, response.request.url.path) from reason
        finally:
            _platform.close_response(response)


def _refusal(response: httpx.Response, method: str, path: str) -> APIError:
    try:
        content = _platform.read_response(response)
    finally:
        _platform.close_response(response)
    request_id = response.headers.get("x-request-id")
    shown = path.partition("?")[0]
    return error_of(response.status_code, content, request_id=request_id, method=method, path=shown)


def _may_have_begun(error: BaseException) -> bool:
    """Whether the server may carry out the request although the caller has got this instead of an answer."""
    if isinstance(error, ConnectionError):
        return not isinstance(error.__cause__, NEVER_ARRIVED)
    return not isinstance(error, Exception)


def _connection_error(reason: httpx.TransportError, method: str, path: str) -> ConnectionError:
    what = f"{method} {path.partition('?')[0]}: {reason or type(reason).__name__}"
    error = TimeoutError(what) if isinstance(reason, httpx.TimeoutException) else ConnectionError(what)
    error.__cause__ = reason
    return error
