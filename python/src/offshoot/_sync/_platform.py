"""What differs between the asynchronous and the synchronous client beyond ``async`` and ``await``.

Written by hand twice: here and in ``_async/_platform.py``.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextlib import closing as _closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar

import httpx

from .._files import TarFile, read_block
from .._search import Stopped

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

T = TypeVar("T")
HttpClient = httpx.Client
Answer = Annotated[T, "at once"]
"""What a function of the caller may return."""


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


def open_web_socket(url: str, **options: Any) -> ClientConnection:
    # Loaded when it is needed: most programs open no terminal.
    from websockets.sync.client import connect

    # Newer versions warn of a connection that no `with` block has.
    socket: ClientConnection = connect(url, **options).__enter__()
    return socket


class Background:
    """Work that nobody waits for until the end."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def start(self, work: Callable[[], None]) -> None:
        self._threads.append(_thread(work))

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()
        self._threads.clear()


class Workers:
    """The same work in several threads."""

    def __init__(self, work: Callable[[], None], count: int) -> None:
        self._threads = [_thread(work) for _ in range(count)]

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for all. Returns whether they have ended."""
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)


class Stop:
    """The end of a search, for all of its branches."""

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._racing: set[threading.Event] = set()

    def set(self) -> None:
        with self._lock:
            self.is_set = True
            for each in self._racing:
                each.set()

    def race(self, work: Callable[..., T], *args: Any) -> T:
        """What ``work`` returns. No thread can be ended from outside, so at the stop it is left alone: the calls that
        it makes fail when its sandbox is deleted.

        :raises Stopped: the stop came first
        """
        has_ended = threading.Event()
        with self._lock:
            if self.is_set:
                raise Stopped
            self._racing.add(has_ended)
        answer: list[T] = []
        failure: list[BaseException] = []

        def run() -> None:
            try:
                answer.append(work(*args))
            except BaseException as error:
                failure.append(error)
            finally:
                has_ended.set()

        _thread(run, daemon=True)
        has_ended.wait()
        with self._lock:
            self._racing.discard(has_ended)
            if self.is_set:
                raise Stopped
        if failure:
            raise failure[0]
        return answer[0]


def _thread(work: Callable[[], None], *, daemon: bool = False) -> threading.Thread:
    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=daemon)
    thread.start()
    return thread
