# Generated from _async by tools/generate.py. Do not edit.
"""Files of a sandbox."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._files import TarFile, unpack
from .._values import QueryValue, SandboxPath, octal, path_bytes
from ..errors import APIError, NotFoundError
from ..types import ArchiveUnpacked, FileEntry, FileWritten
from . import _platform
from .scope import Scope
from .watch import Watch, is_no_file

_OCTETS = {"content-type": "application/octet-stream"}


class Files:
    """The files of a sandbox. Paths are absolute. ``user`` is the one whose rights apply (default: ``root``);
    ``owner`` owns what a call makes, which then has the rights of ``root``."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def read(
        self, path: SandboxPath, *, offset: int | None = None, length: int | None = None, user: str | None = None
    ) -> str:
        """The content of a file as text. U+FFFD replaces invalid UTF-8."""
        return (self.read_bytes(path, offset=offset, length=length, user=user)).decode("utf-8", "replace")

    def read_bytes(
        self, path: SandboxPath, *, offset: int | None = None, length: int | None = None, user: str | None = None
    ) -> bytes:
        """The content of a file.

        :param offset: first byte; at or after the end of the file, nothing is read
        :param length: maximum bytes
        """
        headers = {}
        if offset is not None or length is not None:
            begin = offset or 0
            headers["range"] = f"bytes={begin}-{'' if length is None else begin + length - 1}"
        query: dict[str, QueryValue] = {"path": path_bytes(path), "user": user}
        url = f"{self._scope.path}/fs"
        try:
            return (self._scope.transport.request("GET", url, query=query, headers=headers)).content
        except APIError as error:
            # The range begins at or after the end of the file.
            if headers and error.status == 416:
                return b""
            raise

    def read_stream(self, path: SandboxPath, *, user: str | None = None) -> Iterator[bytes]:
        """Yields the content of a file in blocks."""
        query: dict[str, QueryValue] = {"path": path_bytes(path), "user": user}
        response = self._scope.transport.stream("GET", f"{self._scope.path}/fs", query=query)
        with _platform.closing(self._scope.transport.blocks(response)) as blocks:
            for block in blocks:
                yield block

    def write(
        self,
        path: SandboxPath,
        content: str | bytes | Path,
        *,
        mode: int | str | None = None,
        user: str | None = None,
        owner: str | None = None,
    ) -> FileWritten:
        """Writes a file, and the directories that it needs. Readers see the old or the new content, nothing between.

        :param content: a text is encoded as UTF-8; a :class:`pathlib.Path` is a local file
        :param mode: such as ``0o644``
        """
        query: dict[str, QueryValue] = {"path": path_bytes(path), "mode": octal(mode), "user": user, "owner": owner}
        url = f"{self._scope.path}/fs"
        put = self._scope.transport.json
        written: FileWritten
        if isinstance(content, Path):
            with content.open("rb") as file:

                def from_start() -> Iterator[bytes]:
                    file.seek(0)
                    return _platform.read_blocks(file)

                written = put("PUT", url, query=query, content=from_start, headers=_OCTETS)
        else:
            data = content.encode() if isinstance(content, str) else content
            written = put("PUT", url, query=query, content=data, headers=_OCTETS)
        return written

    def list(self, path: SandboxPath, *, depth: int = 1, user: str | None = None) -> list[FileEntry]:
        """The entries of a directory. ``depth`` 2 also lists the directories in it, and so on up to 100."""
        query: dict[str, QueryValue] = {"path": path_bytes(path), "depth": depth, "user": user}
        entries: list[FileEntry] = (self._scope.get("/fs/dir", query))["entries"]
        return entries

    def stat(self, path: SandboxPath, *, user: str | None = None) -> FileEntry:
        """Describes a file or directory.

        :raises NotFoundError: nothing has this path
        """
        entry: FileEntry = self._scope.get("/fs/stat", {"path": path_bytes(path), "user": user})
        return entry

    def exists(self, path: SandboxPath, *, user: str | None = None) -> bool:
        """Whether something has this path."""
        try:
            self.stat(path, user=user)
        except NotFoundError as error:
            if not is_no_file(error):
                raise
            return False
        return True

    def mkdir(
        self,
        path: SandboxPath,
        *,
        mode: int | str | None = None,
        parents: bool = True,
        user: str | None = None,
        owner: str | None = None,
    ) -> FileEntry:
        """Makes a directory and, unless ``parents`` is false, those above it."""
        query = {"mode": octal(mode), "parents": parents, "user": user, "owner": owner}
        return self._change("mkdir", path, query)

    def move(
        self,
        path: SandboxPath,
        to: SandboxPath,
        *,
        overwrite: bool = False,
        parents: bool = False,
        user: str | None = None,
    ) -> FileEntry:
        """Renames.

        :raises ConflictError: ``to`` exists, and ``overwrite`` is false
        """
        query = {"to": path_bytes(to), "overwrite": overwrite, "parents": parents, "user": user}
        return self._change("move", path, query)

    def _change(self, what: str, path: SandboxPath, query: dict[str, Any]) -> FileEntry:
        entry: FileEntry = self._scope.transport.json(
            "POST", f"{self._scope.path}/fs/{what}", query={"path": path_bytes(path), **query}
        )
        return entry

    def remove(self, path: SandboxPath, *, recursive: bool = False, user: str | None = None) -> None:
        """Deletes a file, or with ``recursive`` a directory."""
        self._scope.delete("/fs", {"path": path_bytes(path), "recursive": recursive, "user": user})

    def upload(
        self,
        path: SandboxPath,
        source: str | os.PathLike[str] | bytes,
        *,
        user: str | None = None,
        owner: str | None = None,
    ) -> ArchiveUnpacked:
        """Copies a local directory into a directory of the sandbox.

        :param source: the local directory, or the bytes of a tar archive, which may be compressed
        """
        content: Any = source
        if not isinstance(source, bytes):
            tar = TarFile(Path(source))

            def content() -> Iterator[bytes]:
                return _platform.tar_blocks(tar)

        query: dict[str, QueryValue] = {"path": path_bytes(path), "user": user, "owner": owner}
        unpacked: ArchiveUnpacked = self._scope.transport.json(
            "PUT", f"{self._scope.path}/fs/archive", query=query, content=content, headers=_OCTETS
        )
        return unpacked

    def download(self, path: SandboxPath, folder: str | os.PathLike[str], *, user: str | None = None) -> None:
        """Copies a directory of the sandbox into a local directory, which it makes if needed.

        :raises tarfile.TarError: an entry would leave the local directory, or is a device
        """
        query: dict[str, QueryValue] = {"path": path_bytes(path), "user": user}
        response = self._scope.transport.stream("GET", f"{self._scope.path}/fs/archive", query=query)
        with tempfile.TemporaryFile() as archive:
            with _platform.closing(self._scope.transport.blocks(response)) as blocks:
                for block in blocks:
                    archive.write(block)
            archive.seek(0)
            _platform.in_thread(lambda: unpack(archive, Path(folder)))

    def watch(self, path: SandboxPath, *, recursive: bool = False, user: str | None = None) -> Watch:
        """Watches a directory: from now on no change is missed without an ``overflow``. Use it in a ``with`` block:

            with sandbox.files.watch("/work") as changes:
                for change in changes: ...

        :param recursive: also the directories in it
        """
        watch = Watch(self._scope, {"path": path_bytes(path), "recursive": recursive, "user": user})
        watch.connect()
        return watch
