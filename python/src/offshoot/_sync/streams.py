# Generated from _async by tools/generate.py. Do not edit.
"""Streams of events that go on where their connection broke."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from .._retry import delay_before
from .._sse import ServerSentEvent
from .._values import QueryValue
from ..errors import ConnectionError, NotFoundError, ServerError
from . import _platform
from .transport import Transport

MAX_FRUITLESS = 8
"""Connections in a row that do not work before it gives up, which takes about half a minute."""
WORKED_SECONDS = 120.0
"""A connection that was open for so long has worked, even if it brought nothing. The server ends every stream after an
hour, and a quiet stream must not fail by that."""


class Reconnects:
    """The connections of a stream that continues when one of them ends."""

    def __init__(self) -> None:
        self._fruitless = 0
        self._opened_at: float | None = None

    def opened(self) -> None:
        """The server has accepted the request."""
        self._opened_at = time.monotonic()

    def worked(self) -> None:
        """The connection has brought something."""
        self._fruitless = 0

    def wait(self, what: str, cause: Exception | None) -> None:
        """Waits after the end of a connection, longer after each that did not work.

        :raises ConnectionError: there were too many of them
        """
        open_seconds = 0.0 if self._opened_at is None else time.monotonic() - self._opened_at
        self._opened_at = None
        if open_seconds >= WORKED_SECONDS:
            self._fruitless = 0
        if self._fruitless >= MAX_FRUITLESS:
            raise ConnectionError(f"{what}: the stream ends again and again") from cause
        self._fruitless += 1
        _platform.sleep(delay_before(self._fruitless) or 0)


def follow(
    transport: Transport,
    path: str,
    query: Mapping[str, QueryValue],
    *,
    is_last: Callable[[ServerSentEvent], bool],
    after: str | None = None,
) -> Iterator[ServerSentEvent]:
    """Yields the events of a stream with positions, the last one included. After a break it continues after the last
    event that it had, so none is missing or repeated. It also ends when the followed object is deleted.

    :raises ConnectionError: several attempts in a row have failed
    """
    reconnects = Reconnects()
    has_begun = False
    while True:
        headers = {"accept": "text/event-stream"}
        if after is not None:
            headers["last-event-id"] = after
        cause: Exception | None = None
        try:
            response = transport.stream("GET", path, query=query, headers=headers)
            has_begun = True
            reconnects.opened()
            if after is None:
                # The position before the first event, if the server tells it.
                after = response.headers.get("last-event-id")
            with _platform.closing(transport.events(response)) as events:
                for event in events:
                    reconnects.worked()
                    after = event.id if event.id is not None else after
                    yield event
                    if is_last(event):
                        return
        except NotFoundError:
            if not has_begun:
                raise
            return
        except (ConnectionError, ServerError) as error:
            if not has_begun:
                raise
            cause = error
        reconnects.wait(f"GET {path}", cause)
