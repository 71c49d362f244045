# Generated from _async by tools/generate.py. Do not edit.
"""One sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, cast, overload

from .._output import CommandLine, Encoding, command_body
from .._values import QueryValue, given
from ..errors import CommandFailedError, CommandTimeoutError
from ..results import CommandExit, ExecResult, OutputChunk
from ..types import Event, Lifecycle, Lineage, LogLine, Promotion, SandboxMetrics, Snapshot, Visibility
from ..types import Sandbox as SandboxInfo
from . import _platform
from .code import Code
from .commands import Commands
from .exec import ExecStream
from .files import Files
from .ports import Ports
from .resource import Resource
from .scope import Scope
from .streams import follow
from .templates import TemplateBuild
from .terminal import Terminal, open_terminal
from .transport import Transport

MAX_OUTPUT_CHARS = 16 * 1024 * 1024
"""Of each output in a result. Use ``exec_stream`` for more."""


class Sandbox(Resource[SandboxInfo]):
    """A microVM. ``with`` deletes a sandbox that the program has made; one from ``get`` or ``list`` stays."""

    def __init__(self, transport: Transport, info: SandboxInfo, *, is_owned: bool) -> None:
        super().__init__(Scope(transport, "/v1/sandboxes").below(info["id"]), info, is_owned=is_owned)
        self.id = info["id"]
        self.commands = Commands(self._scope)
        """Commands that run on their own."""
        self.files = Files(self._scope)
        self.ports = Ports(self._scope)
        self.code = Code(self._scope)
        """The code interpreter."""

    def exec(
        self,
        command: CommandLine,
        *,
        check: bool = False,
        on_output: Callable[[OutputChunk[str]], object] | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_seconds: int | None = None,
        stdin: str | bytes | None = None,
    ) -> ExecResult:
        """Runs a command and waits for its end. Cancelling the call kills the command.

        :param command: a shell command, or a program with its arguments, which runs without a shell
        :param check: raises for another exit code than 0
        :param on_output: called with each part of the output as it arrives
        :param cwd: absolute path; default: the home of the user
        :param env: variables in addition to those of the sandbox
        :param user: name or numeric id; default: ``root``
        :param timeout_seconds: after these the server kills the command; default: no limit
        :raises CommandFailedError: with ``check``
        :raises CommandTimeoutError: ``timeout_seconds`` are over
        """
        stream = self.exec_stream(command, cwd=cwd, env=env, user=user, timeout_seconds=timeout_seconds, stdin=stdin)
        parts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        room = {"stdout": MAX_OUTPUT_CHARS, "stderr": MAX_OUTPUT_CHARS}
        is_truncated = False
        try:
            with stream:
                for chunk in stream:
                    if on_output is not None:
                        on_output(chunk)
                    parts[chunk.stream].append(chunk.data[: room[chunk.stream]])
                    is_truncated = is_truncated or len(chunk.data) > room[chunk.stream]
                    room[chunk.stream] -= len(parts[chunk.stream][-1])
        except CommandTimeoutError as error:
            error.stdout, error.stderr = "".join(parts["stdout"]), "".join(parts["stderr"])
            raise
        end = cast(CommandExit, stream.exit)
        result = ExecResult(
            "".join(parts["stdout"]), "".join(parts["stderr"]), end.exit_code, end.duration_ms, is_truncated
        )
        if check and not result.ok:
            raise CommandFailedError(command if isinstance(command, str) else " ".join(command), result)
        return result

    @overload
    def exec_stream(
        self,
        command: CommandLine,
        *,
        encoding: Literal["text"] = "text",
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_seconds: int | None = None,
        stdin: str | bytes | None = None,
    ) -> ExecStream[str]: ...

    @overload
    def exec_stream(
        self,
        command: CommandLine,
        *,
        encoding: Literal["bytes"],
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_seconds: int | None = None,
        stdin: str | bytes | None = None,
    ) -> ExecStream[bytes]: ...

    def exec_stream(
        self,
        command: CommandLine,
        *,
        encoding: Encoding = "text",
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_seconds: int | None = None,
        stdin: str | bytes | None = None,
    ) -> Any:
        """Runs a command and yields its output while it runs. Use it in a ``with`` block, whose end kills the command.

        :param encoding: ``text`` or ``bytes``
        """
        body = command_body(command, cwd=cwd, env=env, user=user, timeout_seconds=timeout_seconds, stdin=stdin)
        return ExecStream(self._scope, body, encoding)

    def pause(self) -> Sandbox:
        """Stops the vCPUs. The memory stays."""
        return self._become("/pause")

    def resume(self) -> Sandbox:
        """Starts the vCPUs again."""
        return self._become("/resume")

    def hibernate(self, *, memory: bool = True) -> Sandbox:
        """Writes the memory to disk and ends the VM. ``memory=False`` keeps the disk only."""
        return self._become("/hibernate", {} if memory else {"memory": False})

    def wake(self) -> Sandbox:
        """Restores a hibernated sandbox. Commands and file operations do that by themselves."""
        return self._become("/wake")

    def _become(self, path: str, body: object = None) -> Sandbox:
        # A request for the state that the sandbox already has changes nothing, so it may be repeated.
        self.info = self._scope.post(path, body, idempotent=True)
        return self

    def update(self, *, visibility: Visibility) -> Sandbox:
        """Changes who may open the preview addresses: everybody, or members of the workspace and links."""
        self.info = self._scope.patch({"visibility": visibility}, idempotent=True)
        return self

    def lifecycle(self) -> Lifecycle:
        """How long the sandbox lives."""
        lifecycle: Lifecycle = self._scope.get("/lifecycle")
        return lifecycle

    def set_lifecycle(
        self,
        *,
        ttl_seconds: int | None = None,
        on_timeout: Literal["delete", "pause"] | None = None,
        persistent: bool | None = None,
        idle_timeout_seconds: int | None = None,
    ) -> Lifecycle:
        """Changes how long the sandbox lives. Absent fields stay. ``ttl_seconds`` counts from now."""
        fields = {
            "ttl_seconds": ttl_seconds,
            "on_timeout": on_timeout,
            "persistent": persistent,
            "idle_timeout_seconds": idle_timeout_seconds,
        }
        lifecycle: Lifecycle = self._scope.transport.json("PATCH", f"{self._scope.path}/lifecycle", body=given(fields))
        return lifecycle

    def snapshot(self, *, name: str | None = None) -> Snapshot:
        """Keeps the memory, devices and disk of this instant. New sandboxes can start from it (``from_snapshot``)."""
        snapshot: Snapshot = self._scope.post("/snapshots", given({"name": name}), creates=True)
        return snapshot

    def make_template(
        self,
        name: str,
        *,
        memory: bool | None = None,
        start_cmd: str | None = None,
        ready_cmd: str | None = None,
        replace: bool | None = None,
    ) -> TemplateBuild:
        """Starts to make a template of the sandbox. :meth:`TemplateBuild.wait` waits for its end.

        :param memory: keeps the processes of this instant; default: only the disk
        :param replace: replaces an own template of that name
        """
        fields = {"name": name, "memory": memory, "start_cmd": start_cmd, "ready_cmd": ready_cmd, "replace": replace}
        info = self._scope.post("/template", given(fields), creates=True)
        return TemplateBuild(self._scope.transport, info)

    def terminal(
        self,
        command: str | None = None,
        *,
        rows: int | None = None,
        cols: int | None = None,
        user: str | None = None,
        cwd: str | None = None,
        session: str | None = None,
    ) -> Terminal:
        """Opens a terminal over a WebSocket.

        :param command: runs under ``sh -c``; default: a login shell
        :param user: name or numeric id; default: ``root``
        :param session: name of a terminal that outlives the connection. The next call with the name gets the same one.
        """
        query: dict[str, QueryValue] = {
            "cmd": command,
            "rows": rows,
            "cols": cols,
            "user": user,
            "cwd": cwd,
            "session": session,
        }
        return open_terminal(self._scope, query)

    @overload
    def fork(self, *, metadata: Mapping[str, str] | None = None, count: None = None) -> Sandbox: ...

    @overload
    def fork(self, *, metadata: Mapping[str, str] | None = None, count: int) -> Children: ...

    def fork(self, *, metadata: Mapping[str, str] | None = None, count: int | None = None) -> Any:
        """Copies the running sandbox with its processes, files and memory.

        :param metadata: replaces that of the parent
        :param count: makes so many copies of the same instant, 1 to 16
        """
        body = given({"metadata": None if metadata is None else dict(metadata), "count": count})
        transport = self._scope.transport
        if count is None:
            return Sandbox(transport, self._scope.post("/fork", body, creates=True), is_owned=True)
        return Children(transport, self._scope.post("/fork-tree", body, creates=True))

    def promote(self, *, cleanup_siblings: bool = True) -> Promotion:
        """Detaches this child of a fork tree from its parent and deletes its siblings."""
        body = {"cleanup_siblings": cleanup_siblings}
        promotion: Promotion = self._scope.post("/promote", body, idempotent=True)
        return promotion

    def lineage(self) -> Lineage:
        """The tree of the sandbox: sandboxes and snapshots, also deleted ones, from the oldest ancestor."""
        lineage: Lineage = self._scope.get("/lineage")
        return lineage

    def events(self, *, since: int | str | None = None, tail: int | None = None) -> Iterator[tuple[int, Event]]:
        """Yields the events, each with its number, then new ones as they happen, until the sandbox is deleted. A broken
        connection is continued without a gap or a repetition.

        :param since: events after this number or RFC 3339 time. Without it and ``tail`` the last 100 come first.
        :param tail: only so many of the latest events at the beginning
        """
        # A stream that has sent nothing has no position, and after a break it would begin at a later event. Every
        # sandbox has an event, so the last one tells the position.
        is_past = tail == 0 and since is None
        query = {"since": since, "tail": 1 if is_past else tail, "follow": True}
        after: str | None = None
        while True:
            has_missed = False
            events = follow(
                self._scope.transport, f"{self._scope.path}/events", query, is_last=lambda _: False, after=after
            )
            with _platform.closing(events):
                for each in events:
                    event: Event = json.loads(each.data)
                    # The reader fell behind what the server has in memory. The next connection reads the rest from its
                    # disk.
                    has_missed = event["type"] == "events.dropped"
                    if has_missed:
                        break
                    after = each.id
                    if not is_past:
                        yield int(each.id or 0), event
                    is_past = False
            if not has_missed:
                return

    def past_events(self, *, since: int | str | None = None, tail: int | None = None) -> list[Event]:
        """The latest events, oldest first."""
        events: list[Event] = self._scope.get("/events", {"since": since, "tail": tail})
        return events

    def follow_logs(
        self, *, stream: Literal["stdout", "stderr", "both"] | None = None, tail: int | None = None
    ) -> Iterator[LogLine]:
        """Yields the lines of the log, then new ones, until the sandbox is deleted. Continues like :meth:`events`."""
        query = {"stream": stream, "tail": tail, "follow": True}
        lines = follow(self._scope.transport, f"{self._scope.path}/logs", query, is_last=lambda _: False)
        with _platform.closing(lines):
            for each in lines:
                line: LogLine = json.loads(each.data)
                yield line

    def logs(
        self, *, stream: Literal["stdout", "stderr", "both"] | None = None, tail: int | None = None
    ) -> list[LogLine]:
        """The lines of the log until now."""
        lines: list[LogLine] = self._scope.get(
            "/logs", {"stream": stream, "tail": tail}, headers={"accept": "application/json"}
        )
        return lines

    def metrics(self, *, since: str | None = None, step: int | None = None) -> SandboxMetrics:
        """What the sandbox uses, now and in the last hour.

        :param since: RFC 3339, within the last hour
        :param step: seconds between two points, 10 to 3600
        """
        metrics: SandboxMetrics = self._scope.get("/metrics", {"since": since, "step": step})
        return metrics


class Children:
    """The children of one fork, all from the same instant of their parent. ``with`` deletes them."""

    def __init__(self, transport: Transport, tree: Mapping[str, Any]) -> None:
        self.tree_id: str = tree["tree_id"]
        self.sandboxes = [Sandbox(transport, child, is_owned=True) for child in tree["children"]]
        """Those that started, in the order of their index."""
        self.errors: list[dict[str, Any]] = tree["errors"]
        """Those that did not."""
        self.warnings: list[str] = tree["warnings"]
        """What the children lack of their parent."""

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.delete()

    def delete(self) -> None:
        """Deletes all children that exist. The first error is raised after all were tried."""
        failed: Exception | None = None
        for each in self.sandboxes:
            try:
                each.delete()
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed
