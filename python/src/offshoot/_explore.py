"""A search over forks, with threads or asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, overload

from ._async import explore as _with_tasks
from ._async.explore import AsyncCandidate, AsyncExploration
from ._async.sandbox import AsyncSandbox
from ._search import Budget
from ._sync import explore as _with_threads
from ._sync.explore import Candidate, Exploration
from ._sync.sandbox import Sandbox

T = TypeVar("T")


@overload
def explore(
    parent: Sandbox,
    branches: Mapping[str, Callable[[Sandbox], T]],
    *,
    score: Callable[[T, Candidate], float | None],
    concurrency: int = ...,
    stop_at: float | None = None,
    budget: Budget | None = None,
) -> Exploration[T]: ...


@overload
def explore(
    parent: AsyncSandbox,
    branches: Mapping[str, Callable[[AsyncSandbox], Awaitable[T]]],
    *,
    score: Callable[[T, AsyncCandidate], Awaitable[float | None] | float | None],
    concurrency: int = ...,
    stop_at: float | None = None,
    budget: Budget | None = None,
) -> Awaitable[AsyncExploration[T]]: ...


def explore(parent: Any, branches: Any, **options: Any) -> Any:
    """Searches over forks: each branch runs in a copy of the sandbox. Keeps the sandbox of the best branch and deletes
    the others, also when the search is cancelled or fails. The parent stays as it was.

    Forks live as long as the parent would, from now on. If this process is killed, their time to live ends them; forks
    of a persistent parent are persistent, too.

    With an :class:`AsyncSandbox` the branches are tasks and the end of the search cancels them. With a
    :class:`Sandbox` they are threads: the end deletes their forks, so that every call they make there raises an error.
    Cancelling the task, or Ctrl+C in the main thread, ends the search and deletes all forks.

    :param branches: a name and a function for each branch. The function gets the fork, and what it returns is rated.
    :param score: rates what a branch has returned; the highest score wins. ``None``: the branch must not win.
    :param concurrency: branches that run at the same time
    :param stop_at: a score that is good enough: it ends the search
    :param budget: ``seconds`` and ``forks``
    :raises ForksLeftError: the search has failed, and forks could not be deleted; its cause is the failure
    """
    search: Any = _with_tasks.explore if isinstance(parent, AsyncSandbox) else _with_threads.explore
    return search(parent, branches, **options)
