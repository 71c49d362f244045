"""Templates and their builds."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from .._files import TarFile
from .._values import QueryValue
from ..errors import BuildFailedError
from ..types import Build as BuildInfo
from ..types import BuildLogLine, BuildStatus, Template
from . import _platform
from .lists import AsyncList
from .resource import AsyncResource, delete_if_there
from .scope import AsyncScope
from .streams import follow
from .transport import AsyncTransport

_TAR = {"content-type": "application/x-tar"}


class AsyncTemplateBuild(AsyncResource[BuildInfo]):
    """The build of a template. It goes on without the program."""

    def __init__(self, transport: AsyncTransport, info: BuildInfo) -> None:
        super().__init__(AsyncScope(transport, "/v1/builds").below(info["id"]), info, is_owned=False)
        self.id = info["id"]

    async def logs(self) -> str:
        """The log until now."""
        response = await self._scope.transport.request("GET", f"{self._scope.path}/logs")
        return response.text

    async def follow_logs(self) -> AsyncIterator[BuildLogLine]:
        """Yields the lines of the log, each with ``stage`` and ``percent``, until the build ends. A broken connection
        is continued where it was."""
        lines = follow(
            self._scope.transport,
            f"{self._scope.path}/logs",
            {"follow": True},
            is_last=lambda event: event.event == "done",
        )
        async with _platform.closing(lines):
            async for each in lines:
                if each.event == "line":
                    line: BuildLogLine = json.loads(each.data)
                    yield line

    async def wait(self, *, on_log: Callable[[BuildLogLine], object] | None = None) -> BuildInfo:
        """Waits until the build ends.

        :param on_log: called with each line of the log as it arrives
        :raises BuildFailedError: it has failed
        """
        lines = self.follow_logs()
        async with _platform.closing(lines):
            async for line in lines:
                if on_log is not None:
                    on_log(line)
        info = await self.refresh()
        if info["status"] == "failed":
            raise BuildFailedError(info)
        return info

    async def delete(self) -> None:
        """Cancels the build. It is no error if it has ended."""
        await super().delete()


class AsyncTemplates:
    """The templates of a workspace."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._scope = AsyncScope(transport, "/v1/templates")

    async def build(
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
    ) -> AsyncTemplateBuild:
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
            return await self._build(query, archive)
        path = Path(archive)
        if path.is_dir():
            tar = TarFile(path, keeps_owners=True)
            return await self._build(query, lambda: _platform.tar_blocks(tar))
        with path.open("rb") as file:

            def from_start() -> AsyncIterator[bytes]:
                file.seek(0)
                return _platform.read_blocks(file)

            return await self._build(query, from_start)

    async def _build(self, query: dict[str, QueryValue], content: Any) -> AsyncTemplateBuild:
        path = f"{self._scope.path}/build"
        info = await self._transport.json("POST", path, query=query, content=content, headers=_TAR)
        return AsyncTemplateBuild(self._transport, info)

    async def get(self, name: str) -> Template:
        """
        :raises NotFoundError: there is none
        """
        template: Template = await self._scope.below(name).get()
        return template

    def list(
        self, *, name: str | None = None, is_global: bool | None = None, limit: int | None = None
    ) -> AsyncList[Template]:
        """The workspace's own templates and the global ones."""
        query: dict[str, QueryValue] = {"name": name, "is_global": is_global, "limit": limit}
        return self._scope.list("", query)

    async def delete(self, name: str) -> None:
        """Deletes a template. It is no error if there is none. Sandboxes that were made from it stay."""
        await delete_if_there(self._scope.below(name))

    async def get_build(self, build_id: str) -> AsyncTemplateBuild:
        """A build by its id, also one of a sandbox's template.

        :raises NotFoundError: there is none
        """
        builds = AsyncScope(self._transport, "/v1/builds")
        return AsyncTemplateBuild(self._transport, await builds.below(build_id).get())

    def builds(
        self,
        *,
        name: str | None = None,
        status: BuildStatus | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> AsyncList[AsyncTemplateBuild]:
        """The builds of all templates, newest first. ``name`` finds those of one template."""
        query: dict[str, QueryValue] = {
            "name": name,
            "status": status,
            "created_after": created_after,
            "created_before": created_before,
            "limit": limit,
        }
        return self._scope.list("/builds", query, lambda info: AsyncTemplateBuild(self._transport, info))
