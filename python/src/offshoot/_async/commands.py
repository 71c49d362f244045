"""Commands that run on their own."""

from __future__ import annotations

import json
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Literal, overload

from .._output import ChunkDecoder, CommandLine, Encoding, command_body, wire_encoding, wire_input
from ..errors import ConnectionError, MissingDataError, NotFoundError, ServerError, TimeoutError
from ..results import OutputChunk
from ..types import BackgroundExec
from . import _platform
from .scope import AsyncScope
from .streams import AsyncReconnects

WAIT_SECONDS = 60
"""Longest time for which the server waits in one request."""


class AsyncCommand:
    """A command that runs on its own. ``with`` deletes it."""

    def __init__(self, scope: AsyncScope, command_id: str, pid: int) -> None:
        self.id = command_id
        self.pid = pid
        """Process id in the sandbox, and id of its process group."""
        self._scope = scope.below("execs", command_id)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def __aenter__(self) -> AsyncCommand:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.delete()
        except NotFoundError:
            pass

    async def info(self) -> BackgroundExec:
        """The state of the command now."""
        info: BackgroundExec = await self._scope.get()
        return info

    async def wait(self, timeout: float | None = None) -> BackgroundExec:
        """Waits until the command ends.

        :param timeout: seconds; default: no limit
        :raises TimeoutError: the time is over; the command runs on
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left = max(0.0, end - time.monotonic())
            seconds = max(1, math.ceil(min(WAIT_SECONDS, left)))
            info: BackgroundExec = await self._scope.get("/wait", {"timeout_seconds": seconds}, timeout=seconds + 60)
            if info["exit_code"] is not None:
                return info
            if time.monotonic() >= end:
                raise TimeoutError(f"the command {self.id} has not ended in {timeout} seconds")

    @overload
    def output(
        self,
        *,
        offset: int | None = None,
        encoding: Literal["text"] = "text",
        on_gap: Callable[[int, int], object] | None = None,
    ) -> AsyncIterator[OutputChunk[str]]: ...

    @overload
    def output(
        self,
        *,
        offset: int | None = None,
        encoding: Literal["bytes"],
        on_gap: Callable[[int, int], object] | None = None,
    ) -> AsyncIterator[OutputChunk[bytes]]: ...

    def output(
        self,
        *,
        offset: int | None = None,
        encoding: Encoding = "text",
        on_gap: Callable[[int, int], object] | None = None,
    ) -> AsyncIterator[Any]:
        """Yields the output, then live, until the command ends. If the connection breaks, it continues where it was.
        Leaving the loop does not end the command.

        :param offset: byte of the output to begin with; default: the oldest that the server has
        :param on_gap: called with the first and last byte instead of raising :class:`MissingDataError`
        :raises MissingDataError: the server no longer has a part of the output
        """
        return self._output(offset, encoding, on_gap)

    async def _output(
        self, offset: int | None, encoding: Encoding, on_gap: Callable[[int, int], object] | None
    ) -> AsyncIterator[Any]:
        transport = self._scope.transport
        decoder = ChunkDecoder(encoding, is_coded=encoding == "bytes")
        reconnects = AsyncReconnects()
        has_begun = False
        while True:
            cause: Exception | None = None
            try:
                response = await transport.stream(
                    "GET",
                    f"{self._scope.path}/stream",
                    query={"offset": offset, "encoding": wire_encoding(encoding)},
                    headers={"accept": "text/event-stream"},
                )
                has_begun = True
                reconnects.opened()
                async with _platform.closing(transport.events(response)) as events:
                    async for event in events:
                        data = json.loads(event.data)
                        offset = int(event.id) if event.id is not None else offset
                        if event.event == "error":
                            break
                        reconnects.worked()
                        if event.event == "gap":
                            if on_gap is None:
                                raise MissingDataError(data["from"], data["to"])
                            on_gap(data["from"], data["to"])
                        elif event.event in ("stdout", "stderr"):
                            yield OutputChunk(event.event, decoder.decode(event.event, data["chunk"]), offset or 0)  # type: ignore[arg-type]
                        elif event.event == "exit":
                            return
            except (ConnectionError, ServerError) as error:
                if isinstance(error, ServerError) and not has_begun:
                    raise
                cause = error
            # A sandbox that hibernates or an agent that restarts ends the stream without an exit.
            await reconnects.wait(f"the output of the command {self.id}", cause)

    async def write(self, stdin: str | bytes) -> None:
        """Writes to the standard input of a command that was started with ``stdin_open`` or ``pty``."""
        await self._scope.post("/stdin", wire_input(stdin))

    async def close_stdin(self) -> None:
        """Closes the standard input."""
        await self._scope.post("/stdin", {"eof": True})

    async def signal(self, signal: int | str) -> None:
        """Sends a signal, such as ``SIGINT``, to the process group."""
        await self._scope.post("/signal", {"signal": signal})

    async def kill(self) -> None:
        """Ends the process group with SIGKILL. It is no error if it has ended."""
        await self.signal("SIGKILL")

    async def resize(self, *, rows: int, cols: int) -> None:
        """Changes the size of the terminal of a command that was started with ``pty``."""
        await self._scope.post("/resize", {"rows": rows, "cols": cols}, idempotent=True)

    async def delete(self) -> None:
        """Ends the command and forgets it with its output."""
        await self._scope.delete()


class AsyncCommands:
    """Commands that run on their own: they outlive the connection, and restarts of every service."""

    def __init__(self, scope: AsyncScope) -> None:
        self._scope = scope

    async def start(
        self,
        command: CommandLine,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_seconds: int | None = None,
        stdin: str | bytes | None = None,
        stdin_open: bool = False,
        backpressure: bool = False,
        pty: tuple[int, int] | None = None,
    ) -> AsyncCommand:
        """Starts a command and returns without waiting for it.

        :param stdin_open: keeps the standard input open after ``stdin``, for :meth:`AsyncCommand.write`
        :param backpressure: makes the command wait instead of dropping output that a reader has not read
        :param pty: rows and columns of a terminal. All output is then stdout.
        """
        body = command_body(command, cwd=cwd, env=env, user=user, timeout_seconds=timeout_seconds, stdin=stdin)
        body["background"] = True
        if stdin_open:
            body["stdin_open"] = True
        if backpressure:
            body["backpressure"] = True
        if pty is not None:
            body["pty"] = {"rows": pty[0], "cols": pty[1]}
        started = await self._scope.post("/exec", body)
        return AsyncCommand(self._scope, started["exec_id"], started["pid"])

    async def get(self, command_id: str) -> AsyncCommand:
        """Attaches to a command that was started earlier.

        :raises NotFoundError: there is none
        """
        info = await self._scope.below("execs", command_id).get()
        return AsyncCommand(self._scope, info["exec_id"], info["pid"])

    async def list(self) -> list[BackgroundExec]:
        """The commands that run, and those that have ended and are still known."""
        commands: list[BackgroundExec] = await self._scope.get("/execs")
        return commands
