# Generated from _async by tools/generate.py. Do not edit.
"""Commands that run on their own."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, overload

from .._output import ChunkDecoder, CommandLine, Encoding, command_body, wire_encoding, wire_input
from ..errors import ConnectionError, MissingDataError, NotFoundError, ServerError, TimeoutError
from ..results import OutputChunk
from ..types import BackgroundExec
from . import _platform
from .scope import Scope
from .streams import Reconnects

WAIT_SECONDS = 60
"""Longest time for which the server waits in one request."""


class Command:
    """A command that runs on its own. ``with`` deletes it."""

    def __init__(self, scope: Scope, command_id: str, pid: int) -> None:
        self.id = command_id
        self.pid = pid
        """Process id in the sandbox, and id of its process group."""
        self._scope = scope.below("execs", command_id)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def __enter__(self) -> Command:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.delete()
        except NotFoundError:
            pass

    def info(self) -> BackgroundExec:
        """The state of the command now."""
        info: BackgroundExec = self._scope.get()
        return info

    def wait(self, timeout: float | None = None) -> BackgroundExec:
        """Waits until the command ends.

        :param timeout: seconds; default: no limit
        :raises TimeoutError: the time is over; the command runs on
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left = max(0.0, end - time.monotonic())
            seconds = max(1, math.ceil(min(WAIT_SECONDS, left)))
            info: BackgroundExec = self._scope.get("/wait", {"timeout_seconds": seconds}, timeout=seconds + 60)
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
    ) -> Iterator[OutputChunk[str]]: ...

    @overload
    def output(
        self,
        *,
        offset: int | None = None,
        encoding: Literal["bytes"],
        on_gap: Callable[[int, int], object] | None = None,
    ) -> Iterator[OutputChunk[bytes]]: ...

    def output(
        self,
        *,
        offset: int | None = None,
        encoding: Encoding = "text",
        on_gap: Callable[[int, int], object] | None = None,
    ) -> Iterator[Any]:
        """Yields the output, then live, until the command ends. If the connection breaks, it continues where it was.
        Leaving the loop does not end the command.

        :param offset: byte of the output to begin with; default: the oldest that the server has
        :param on_gap: called with the first and last byte instead of raising :class:`MissingDataError`
        :raises MissingDataError: the server no longer has a part of the output
        """
        return self._output(offset, encoding, on_gap)

    def _output(
        self, offset: int | None, encoding: Encoding, on_gap: Callable[[int, int], object] | None
    ) -> Iterator[Any]:
        transport = self._scope.transport
        decoder = ChunkDecoder(encoding, is_coded=encoding == "bytes")
        reconnects = Reconnects()
        has_begun = False
        while True:
            cause: Exception | None = None
            try:
                response = transport.stream(
                    "GET",
                    f"{self._scope.path}/stream",
                    query={"offset": offset, "encoding": wire_encoding(encoding)},
                    headers={"accept": "text/event-stream"},
                )
                has_begun = True
                reconnects.opened()
                with _platform.closing(transport.events(response)) as events:
                    for event in events:
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
            reconnects.wait(f"the output of the command {self.id}", cause)

    def write(self, stdin: str | bytes) -> None:
        """Writes to the standard input of a command that was started with ``stdin_open`` or ``pty``."""
        self._scope.post("/stdin", wire_input(stdin))

    def close_stdin(self) -> None:
        """Closes the standard input."""
        self._scope.post("/stdin", {"eof": True})

    def signal(self, signal: int | str) -> None:
        """Sends a signal, such as ``SIGINT``, to the process group."""
        self._scope.post("/signal", {"signal": signal})

    def kill(self) -> None:
        """Ends the process group with SIGKILL. It is no error if it has ended."""
        self.signal("SIGKILL")

    def resize(self, *, rows: int, cols: int) -> None:
        """Changes the size of the terminal of a command that was started with ``pty``."""
        self._scope.post("/resize", {"rows": rows, "cols": cols}, idempotent=True)

    def delete(self) -> None:
        """Ends the command and forgets it with its output."""
        self._scope.delete()


class Commands:
    """Commands that run on their own: they outlive the connection, and restarts of every service."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def start(
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
    ) -> Command:
        """Starts a command and returns without waiting for it.

        :param stdin_open: keeps the standard input open after ``stdin``, for :meth:`Command.write`
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
        started = self._scope.post("/exec", body)
        return Command(self._scope, started["exec_id"], started["pid"])

    def get(self, command_id: str) -> Command:
        """Attaches to a command that was started earlier.

        :raises NotFoundError: there is none
        """
        info = self._scope.below("execs", command_id).get()
        return Command(self._scope, info["exec_id"], info["pid"])

    def list(self) -> list[BackgroundExec]:
        """The commands that run, and those that have ended and are still known."""
        commands: list[BackgroundExec] = self._scope.get("/execs")
        return commands
