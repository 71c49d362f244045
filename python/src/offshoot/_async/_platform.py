"""What differs between the asynchronous and the synchronous client beyond ``async`` and ``await``.

Written by hand twice: here and in ``_sync/_platform.py``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, Union

import httpx

from .._files import TarFile, read_block
from .._search import Stopped

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

T = TypeVar("T")
HttpClient = httpx.AsyncClient
Answer = Union[T, Awaitable[T]]  # noqa: UP007 - mypy takes no other alias of a type variable
"""What a function of the caller may return."""
CANCEL_SECONDS = 5.0
"""For a cancelled branch to clean up. A search does not wait longer for it."""


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


async def open_web_socket(url: str, **options: Any) -> ClientConnection:
    # Loaded when it is needed: most programs open no terminal.
    from websockets.asyncio.client import connect

    socket: ClientConnection = await connect(url, **options)
    return socket


class Background:
    """Work that nobody waits for until the end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.get_running_loop().create_task(work())
        # The loop holds tasks only weakly.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)


class Workers:
    """The same work in several tasks."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]], count: int) -> None:
        self._tasks = [asyncio.create_task(work()) for _ in range(count)]

    async def wait(self, seconds: float | None = None) -> bool:
        """Waits for all. Returns whether they have ended."""
        if self._tasks:
            _, running = await asyncio.wait(self._tasks, timeout=seconds)
            return not running
        return True


class Stop:
    """The end of a search, for all of its branches."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()

    async def race(self, work: Callable[..., Answer[T]], *args: Any) -> T:
        """What ``work`` returns. Cancels it at the stop.

        :raises Stopped: the stop came first
        """
        if self.is_set:
            raise Stopped
        task = asyncio.ensure_future(_answer(work, *args))
        stop = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=CANCEL_SECONDS)
            # An error of cancelled work is of no interest, and asyncio must not report it either.
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        if self.is_set:
            raise Stopped
        if task.cancelled():
            raise RuntimeError("the branch has cancelled itself")
        return task.result()


async def _answer(work: Callable[..., Answer[T]], *args: Any) -> T:
    answer = work(*args)
    return await answer if inspect.isawaitable(answer) else answer
