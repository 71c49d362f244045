"""What differs between the asynchronous and the synchronous client beyond ``async`` and ``await``.

Written by hand twice: here and in ``_async/_platform.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextlib import closing as _closing
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import httpx

from .._files import TarFile, read_block

T = TypeVar("T")
HttpClient = httpx.Client


def make_http_client(**options: Any) -> httpx.Client:
    return httpx.Client(**options)


def close_http_client(client: httpx.Client) -> None:
    client.close()


def close_response(response: httpx.Response) -> None:
    response.close()


def read_response(response: httpx.Response) -> bytes:
    return response.read()


def iterate_bytes(response: httpx.Response) -> Iterator[bytes]:
    return response.iter_bytes()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def read_blocks(file: BinaryIO) -> Iterator[bytes]:
    """The content of a file."""
    while block := read_block(file):
        yield block


def in_thread(work: Callable[[], T]) -> T:
    """Runs work that may block on a disk."""
    return work()


def write_blocks(path: Path, blocks: Iterator[bytes]) -> int:
    """Writes a file, which appears only when it is whole. Returns its size."""
    part = path.with_name(f"{path.name}.part")
    size = 0
    try:
        with part.open("wb") as file:
            for block in blocks:
                size += file.write(block)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return size


def tar_blocks(tar: TarFile) -> Iterator[bytes]:
    """An archive of a local directory while it is made."""
    yield from tar


def closing(iterator: Iterator[T]) -> AbstractContextManager[Iterator[T]]:
    """Ends a generator at once when its loop is left."""
    return _closing(iterator)  # type: ignore[type-var]


def close_iterator(iterator: Iterator[T]) -> None:
    iterator.close()  # type: ignore[attr-defined]
