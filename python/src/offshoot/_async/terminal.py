"""Terminals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, InvalidStatus, WebSocketException

from .._values import QueryValue, query_string
from ..errors import ConnectionError, OffshootError, error_of
from . import _platform
from .scope import AsyncScope

MAX_FRAME_BYTES = 16 * 1024 * 1024


class AsyncTerminal:
    """A terminal in a sandbox. Iterate over it for its output; ``with`` closes it."""

    def __init__(self, socket: Any, path: str) -> None:
        self._socket = socket
        self._path = path
        self._is_closed = False
        self.exit_code: int | None = None
        """Of the program, once the output has ended; ``None`` if the terminal was left before, or its session goes on.
        """

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yields what the terminal shows, until its program ends.

        :raises ConnectionError: the connection broke
        """
        while True:
            try:
                frame = await self._socket.recv()
            except ConnectionClosedOK:
                return
            except ConnectionClosed as reason:
                if self._is_closed:
                    return
                raise ConnectionError(f"{self._path}: the connection of the terminal broke") from reason
            if isinstance(frame, bytes):
                yield frame
                continue
            message = json.loads(frame)
            self.exit_code = message.get("exit", self.exit_code)
            if "error" in message:
                raise OffshootError(str(message["error"]))

    async def wait(self) -> int | None:
        """Drops further output and returns :attr:`exit_code` at its end."""
        async for _ in self:
            pass
        return self.exit_code

    async def write(self, data: str | bytes) -> None:
        """Types."""
        await self._send(data.encode() if isinstance(data, str) else data)

    async def resize(self, *, rows: int, cols: int) -> None:
        """Changes the size."""
        await self._send(json.dumps({"resize": {"rows": rows, "cols": cols}}))

    async def _send(self, frame: str | bytes) -> None:
        try:
            await self._socket.send(frame)
        except ConnectionClosed as reason:
            raise ConnectionError(f"{self._path}: the terminal is closed") from reason

    async def close(self) -> None:
        """Leaves. A terminal without a session ends with its programs."""
        self._is_closed = True
        await self._socket.close()


async def open_terminal(scope: AsyncScope, query: dict[str, QueryValue]) -> AsyncTerminal:
    config = scope.transport.config
    path = f"{scope.path}/exec/pty"
    url = config.base_url.replace("http", "ws", 1) + path + query_string(query)
    # The certificates that httpx trusts.
    tls = {"ssl": httpx.create_ssl_context()} if url.startswith("wss:") else {}
    try:
        socket = await _platform.open_web_socket(
            url,
            additional_headers=config.headers,
            user_agent_header=None,
            # Keys and echoes are too short to gain by it.
            compression=None,
            # A sleeping sandbox wakes first.
            open_timeout=config.timeout,
            max_size=MAX_FRAME_BYTES,
            **tls,
        )
    except InvalidStatus as refused:
        response = refused.response
        request_id = response.headers.get("x-request-id")
        raise error_of(
            response.status_code, bytes(response.body), request_id=request_id, method="GET", path=path
        ) from None
    except (OSError, WebSocketException) as reason:
        raise ConnectionError(f"{path}: {reason}") from reason
    return AsyncTerminal(socket, path)
