"""Commands whose end the caller waits for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Generic, TypeVar

from .._output import ChunkDecoder, Encoding, wire_input
from ..errors import CommandTimeoutError, ConnectionError, OffshootError
from ..results import CommandExit, OutputChunk
from . import _platform
from .scope import AsyncScope

D = TypeVar("D", str, bytes)


class _End:
    exit: CommandExit | None = None


class AsyncExecStream(Generic[D]):
    """The output of a command while it runs. It can be iterated over once.

    The server kills the command when the stream is closed: at the end of a ``with`` block, or when nothing refers to
    the stream any more.
    """

    def __init__(self, scope: AsyncScope, body: dict[str, Any], encoding: Encoding) -> None:
        self._end = _End()
        # The generator must not refer to this object, so that nothing but the caller keeps it.
        self._chunks: AsyncIterator[OutputChunk[D]] = _read(scope, body, encoding, self._end)

    @property
    def exit(self) -> CommandExit | None:
        """The end of the command; ``None`` while it runs."""
        return self._end.exit

    def __aiter__(self) -> AsyncIterator[OutputChunk[D]]:
        return self._chunks

    async def __aenter__(self) -> AsyncExecStream[D]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Kills the command if it still runs."""
        await _platform.close_iterator(self._chunks)


async def _read(
    scope: AsyncScope, how: dict[str, Any], encoding: Encoding, end: _End
) -> AsyncIterator[OutputChunk[Any]]:
    # In the request, base64 holds for input and output.
    body = dict(how)
    if encoding == "bytes" and body.get("encoding") is None:
        body["encoding"] = "base64"
        if "stdin" in body:
            body["stdin"] = wire_input(body["stdin"].encode())["stdin"]
    decoder = ChunkDecoder(encoding, is_coded=body.get("encoding") == "base64")
    response = await scope.transport.stream(
        "POST", f"{scope.path}/exec/stream", body=body, headers={"accept": "text/event-stream"}
    )
    async with _platform.closing(scope.transport.events(response)) as events:
        async for event in events:
            data = json.loads(event.data)
            if event.event in ("stdout", "stderr"):
                decoded: Any = decoder.decode(event.event, data["chunk"])
                if decoded:
                    yield OutputChunk(event.event, decoded)  # type: ignore[arg-type]
            elif "exit_code" in data:
                end.exit = CommandExit(data["exit_code"], data.get("duration_ms", 0))
                return
            elif "error" in data:
                raise _failure(how, str(data["error"]))
    raise ConnectionError("the connection ended before the command: the server has killed it")


def _failure(how: dict[str, Any], error: str) -> OffshootError:
    if "timeout_seconds" in how and "timeout" in error.lower():
        return CommandTimeoutError(error, stdout="", stderr="")
    return OffshootError(error)
