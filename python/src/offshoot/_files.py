"""Local files and archives."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

BLOCK_BYTES = 256 * 1024


def read_block(file: BinaryIO) -> bytes:
    return file.read(BLOCK_BYTES)


class TarFile:
    """A local directory as a tar archive, in blocks, without holding it in memory."""

    def __init__(self, folder: Path, *, keeps_owners: bool = False) -> None:
        if not folder.is_dir():
            raise NotADirectoryError(folder)
        self._folder = folder
        self._keeps_owners = keeps_owners

    def __iter__(self) -> Iterator[bytes]:
        sink = _Sink()
        with tarfile.open(fileobj=sink, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(self._folder.rglob("*")):
                name = str(path.relative_to(self._folder))
                info = tar.gettarinfo(path, name)
                if info is None or not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
                    continue
                info.uname = info.gname = ""
                # Local numbers of users mean nothing in a sandbox.
                if not self._keeps_owners:
                    info.uid = info.gid = 0
                yield from self._add(tar, path, info, sink)
        yield from sink.take()

    @staticmethod
    def _add(tar: tarfile.TarFile, path: Path, info: tarfile.TarInfo, sink: _Sink) -> Iterator[bytes]:
        if not info.isfile():
            tar.addfile(info)
            yield from sink.take()
            return
        with path.open("rb") as file:
            # `addfile` would take a whole large file at once, so its header and its content are written apart.
            assert tar.fileobj is not None
            header = info.tobuf(tar.format, tar.encoding or "utf-8", tar.errors or "surrogateescape")
            tar.fileobj.write(header)
            left = info.size
            while left > 0:
                block = file.read(min(BLOCK_BYTES, left))
                if not block:
                    raise OSError(f"{path} became shorter while it was read")
                tar.fileobj.write(block)
                left -= len(block)
                yield from sink.take()
            tar.fileobj.write(b"\0" * (-info.size % tarfile.BLOCKSIZE))
            yield from sink.take()


class _Sink(io.RawIOBase):
    """Keeps what was written until it is taken."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        block = bytes(data)  # type: ignore[call-overload]
        self._blocks.append(block)
        return len(block)

    def take(self) -> Iterator[bytes]:
        blocks, self._blocks = self._blocks, []
        if block := b"".join(blocks):
            yield block


def unpack(file: BinaryIO, folder: Path) -> None:
    """Unpacks a tar archive of a sandbox, whose content nobody trusts, into a local directory.

    :raises tarfile.TarError: it has an entry that would leave the directory, or a device
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=file, mode="r:") as tar:
        if not hasattr(tarfile, "data_filter"):
            raise tarfile.TarError("this version of Python cannot unpack safely: update it")
        tar.extractall(folder, filter="data")
