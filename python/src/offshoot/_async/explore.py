"""A search over forks."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, TypeVar

from .._search import Budget, Cancelled, Ending, Failed, ForksLeftError, Outcome, Scored, Skipped, Stopped
from . import _platform
from .sandbox import AsyncSandbox

T = TypeVar("T")
DEFAULT_CONCURRENCY = 4


@dataclass(frozen=True)
class AsyncCandidate:
    """A branch that has run, for ``score``."""

    name: str
    sandbox: AsyncSandbox


@dataclass(frozen=True)
class AsyncBest(Generic[T]):
    """The branch that has won."""

    name: str
    score: float
    value: T
    sandbox: AsyncSandbox
    """It is the caller's to delete."""


@dataclass(frozen=True)
class AsyncExploration(Generic[T]):
    """How a search ended. ``with`` deletes the sandbox of the best branch."""

    best: AsyncBest[T] | None
    """``None`` if no branch has a score."""
    branches: Sequence[Outcome[T]]
    """What became of every branch, in their order."""
    ended: Ending
    """Why the search ended."""

    async def __aenter__(self) -> AsyncExploration[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.best is not None:
            await self.best.sandbox.delete()


async def explore(
    parent: AsyncSandbox,
    branches: Mapping[str, Callable[[AsyncSandbox], _platform.Answer[T]]],
    *,
    score: Callable[[T, AsyncCandidate], _platform.Answer[float | None]],
    concurrency: int = DEFAULT_CONCURRENCY,
    stop_at: float | None = None,
    budget: Budget | None = None,
) -> AsyncExploration[T]:
    """See :func:`offshoot.explore`."""
    if concurrency < 1:
        raise ValueError("concurrency must be at least 1")
    limits = budget or {}
    search = _Search(parent, branches, score, stop_at, limits.get("forks", math.inf))
    workers = _platform.Workers(search.work, min(concurrency, len(branches)))
    try:
        if not await workers.wait(limits.get("seconds")):
            search.end("time")
            await workers.wait()
        if search.failure is not None:
            raise search.failure
        return search.result()
    except BaseException as error:
        search.end()
        await workers.wait()
        left = await search.delete_all()
        if left is None:
            raise
        if isinstance(error, Exception):
            raise left from error
        # Ctrl+C and a cancelled task must go on as what they are.
        raise error from left


class _Search(Generic[T]):
    def __init__(
        self,
        parent: AsyncSandbox,
        branches: Mapping[str, Callable[[AsyncSandbox], _platform.Answer[T]]],
        score: Callable[[T, AsyncCandidate], _platform.Answer[float | None]],
        stop_at: float | None,
        max_forks: float,
    ) -> None:
        self._parent = parent
        self._names = list(branches)
        self._score = score
        self._stop_at = stop_at
        self._max_forks = max_forks
        self._left = list(branches.items())[::-1]
        self._forks = 0
        self._outcomes: dict[str, Outcome[T]] = {}
        self._best: AsyncBest[T] | None = None
        self._alive: set[AsyncSandbox] = set()
        self._ended: Ending = "all"
        self._stop = _platform.Stop()
        # For threads. It is never held while something is awaited.
        self._lock = threading.Lock()
        self.failure: BaseException | None = None
        """What ``score`` or a deletion has raised."""

    def end(self, why: Ending | None = None) -> None:
        with self._lock:
            if not self._stop.is_set and why is not None:
                self._ended = why
            self._stop.set()

    async def work(self) -> None:
        """Runs branches, one after the other, until none is left or the search ends."""
        while (branch := self._next()) is not None:
            name, run = branch
            try:
                self._outcomes[name] = await self._try(name, run)
            except BaseException as error:
                self.failure = self.failure or error
                self.end()

    def _next(self) -> tuple[str, Callable[[AsyncSandbox], _platform.Answer[T]]] | None:
        with self._lock:
            if self._stop.is_set or not self._left:
                return None
            if self._forks >= self._max_forks:
                self._ended = "forks"
                return None
            self._forks += 1
            return self._left.pop()

    async def _try(self, name: str, run: Callable[[AsyncSandbox], _platform.Answer[T]]) -> Outcome[T]:
        sandbox: AsyncSandbox | None = None
        try:
            # Not cancelled: the answer to a fork that is under way says what must be deleted.
            sandbox = await self._parent.fork()
            self._alive.add(sandbox)
            value = await self._stop.race(run, sandbox)
        except Exception as error:
            if sandbox is not None:
                await self._delete(sandbox)
            return Cancelled(name) if self._stop.is_set else Failed(name, error)
        try:
            score = await self._stop.race(self._score, value, AsyncCandidate(name, sandbox))
        except Stopped:
            await self._delete(sandbox)
            return Cancelled(name)
        await self._keep_better(name, score, value, sandbox)
        return Scored(name, score, value)

    async def _keep_better(self, name: str, score: float | None, value: T, sandbox: AsyncSandbox) -> None:
        loser: AsyncSandbox | None = sandbox
        with self._lock:
            if score is not None and not math.isnan(score) and (self._best is None or score > self._best.score):
                loser = None if self._best is None else self._best.sandbox
                self._best = AsyncBest(name, score, value, sandbox)
        if score is not None and self._stop_at is not None and score >= self._stop_at:
            self.end("stop_at")
        if loser is not None:
            await self._delete(loser)

    async def _delete(self, sandbox: AsyncSandbox) -> None:
        await sandbox.delete()
        self._alive.discard(sandbox)

    async def delete_all(self) -> ForksLeftError | None:
        """Returns an error if forks are left."""
        errors: list[Exception] = []
        for sandbox in list(self._alive):
            try:
                await self._delete(sandbox)
            except Exception as error:
                errors.append(error)
        return ForksLeftError([each.id for each in self._alive], errors) if errors else None

    def result(self) -> AsyncExploration[T]:
        branches = [self._outcomes.get(name) or Skipped(name) for name in self._names]
        return AsyncExploration(self._best, branches, self._ended)
