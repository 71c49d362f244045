# Generated from _async by tools/generate.py. Do not edit.
"""Templates and their builds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from .._files import TarFile
from .._values import QueryValue
from ..errors import BuildFailedError
from ..types import Build as BuildInfo
from ..types import BuildLogLine, BuildStatus, Template
from . import _platform
from .lists import List
from .resource import Resource, delete_if_there
from .scope import Scope
from .streams import follow
from .transport import Transport

_TAR = {"content-type": "application/x-tar"}


class TemplateBuild(Resource[BuildInfo]):
    """The build of a template. It goes on without the program."""

    def __init__(self, transport: Transport, info: BuildInfo) -> None:
        super().__init__(Scope(transport, "/v1/builds").below(info["id"]), info, is_owned=False)
        self.id = info["id"]

    def logs(self) -> str:
        """The log until now."""
        response = self._scope.transport.request("GET", f"{self._scope.path}/logs")
        return response.text

    def follow_logs(self) -> Iterator[BuildLogLine]:
        """Yields the lines of the log, each with ``stage`` and ``percent``, until the build ends. A broken connection
        is continued where it was."""
        lines = follow(
            self._scope.transport,
            f"{self._scope.path}/logs",
            {"follow": True},
            is_last=lambda event: event.event == "done",
        )
        with _platform.closing(lines):
            for each in lines:
                if each.event == "line":
                    line: BuildLogLine = json.loads(each.data)
                    yield line

    def wait(self, *, on_log: Callable[[BuildLogLine], object] | None = None) -> BuildInfo:
        """Waits until the build ends.

        :param on_log: called with each line of the log as it arrives
        :raises BuildFailedError: it has failed
        """
        lines = self.follow_logs()
        with _platform.closing(lines):
            for line in lines:
                if on_log is not None:
                    on_log(line)
        info = self.refresh()
        if info["status"] == "failed":
            raise BuildFailedError(info)
        return info

    def delete(self) -> None:
        """Cancels the build. It is no error if it has ended."""
        super().delete()


class Templates:
    """The templates of a workspace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._scope = Scope(transport, "/v1/templates")

    def build(
        self,
        archive: str | os.PathLike[str] | bytes,
        *,
        name: str,
        size_mb: int | None = None,
        cpu: int | None = None,
        memory_mb: int | None = None,
        start_cmd: str | None = None,
        ready_cmd: str | None = None,
        replace: bool | None = None,
    ) -> TemplateBuild:
        """Sends a root file system and starts to build a template of it:

            build = client.templates.build("image.tar", name="web", start_cmd="node /app/server.js")
            build.wait(on_log=lambda line: print(line["percent"], line["line"]))

        It is not repeated after a lost answer: the build may have begun.

        :param archive: a local directory, or a local archive (tar, ``docker save``, OCI; gzip or zstd), or its bytes
        :param size_mb: of the disk; default: 1024
        :param cpu: of its sandboxes; default: 1
        :param memory_mb: of its sandboxes; default: 512
        :param start_cmd: runs once; what it leaves runs in every sandbox. Default: the command that the image names
        :param ready_cmd: runs until it exits 0; then the template is frozen
        :param replace: replaces an own template of that name
        :raises ConflictError: the name is taken, without ``replace``
        """
        query: dict[str, QueryValue] = {
            "name": name,
            "size_mb": size_mb,
            "cpu": cpu,
            "memory_mb": memory_mb,
            "start_cmd": start_cmd,
            "ready_cmd": ready_cmd,
            "replace": replace,
        }
        if isinstance(archive, bytes):
            return self._build(query, archive)
        path = Path(archive)
        if path.is_dir():
            tar = TarFile(path, keeps_owners=True)
            return self._build(query, lambda: _platform.tar_blocks(tar))
        with path.open("rb") as file:

            def from_start() -> Iterator[bytes]:
                file.seek(0)
                return _platform.read_blocks(file)

            return self._build(query, from_start)

    def _build(self, query: dict[str, QueryValue], content: Any) -> TemplateBuild:
        path = f"{self._scope.path}/build"
        info = self._transport.json("POST", path, query=query, content=content, headers=_TAR)
        return TemplateBuild(self._transport, info)

    def get(self, name: str) -> Template:
        """
        :raises NotFoundError: there is none
        """
        template: Template = self._scope.below(name).get()
        return template

    def list(
        self, *, name: str | None = None, is_global: bool | None = None, limit: int | None = None
    ) -> List[Template]:
        """The workspace's own templates and the global ones."""
        query: dict[str, QueryValue] = {"name": name, "is_global": is_global, "limit": limit}
        return self._scope.list("", query)

    def delete(self, name: str) -> None:
        """Deletes a template. It is no error if there is none. Sandboxes that were made from it stay."""
        delete_if_there(self._scope.below(name))

    def get_build(self, build_id: str) -> TemplateBuild:
        """A build by its id, also one of a sandbox's template.

        :raises NotFoundError: there is none
        """
        builds = Scope(self._transport, "/v1/builds")
        return TemplateBuild(self._transport, builds.below(build_id).get())

    def builds(
        self,
        *,
        name: str | None = None,
        status: BuildStatus | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> List[TemplateBuild]:
        """The builds of all templates, newest first. ``name`` finds those of one template."""
        query: dict[str, QueryValue] = {
            "name": name,
            "status": status,
            "created_after": created_after,
            "created_before": created_before,
            "limit": limit,
        }
        return self._scope.list("/builds", query, lambda info: TemplateBuild(self._transport, info))
