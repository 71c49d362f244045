"""What differs between the asynchronous and the synchronous client beyond ``async`` and ``await``.

Written by hand twice: here and in ``_sync/_platform.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import httpx

from .._files import TarFile, read_block

T = TypeVar("T")
HttpClient = httpx.AsyncClient


def make_http_client(**options: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(**options)


async def close_http_client(client: httpx.AsyncClient) -> None:
    await client.aclose()


async def close_response(response: httpx.Response) -> None:
    # The caller may be cancelled just now, and the connection must not stay open: the server ends the command by it.
    await asyncio.shield(response.aclose())


async def read_response(response: httpx.Response) -> bytes:
    return await response.aread()


def iterate_bytes(response: httpx.Response) -> AsyncIterator[bytes]:
    return response.aiter_bytes()


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def read_blocks(file: BinaryIO) -> AsyncIterator[bytes]:
    """The content of a file, read in a thread."""
    while block := await asyncio.to_thread(read_block, file):
        yield block


async def in_thread(work: Callable[[], T]) -> T:
    """Runs work that may block on a disk."""
    return await asyncio.to_thread(work)


async def write_blocks(path: Path, blocks: AsyncIterator[bytes]) -> int:
    """Writes a file, which appears only when it is whole. Returns its size."""
    part = path.with_name(f"{path.name}.part")
    size = 0
    file = await asyncio.to_thread(part.open, "wb")
    try:
        with file:
            async for block in blocks:
                size += await asyncio.to_thread(file.write, block)
        await asyncio.to_thread(part.replace, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return size


async def tar_blocks(tar: TarFile) -> AsyncIterator[bytes]:
    """An archive of a local directory while it is made."""
    blocks = iter(tar)
    while block := await asyncio.to_thread(next, blocks, b""):
        yield block


def closing(iterator: AsyncIterator[T]) -> AbstractAsyncContextManager[AsyncIterator[T]]:
    """Ends a generator at once when its loop is left. The garbage collector would do it later."""
    return aclosing(iterator)  # type: ignore[type-var]


async def close_iterator(iterator: AsyncIterator[T]) -> None:
    await iterator.aclose()  # type: ignore[attr-defined]
