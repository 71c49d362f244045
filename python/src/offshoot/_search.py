"""What a search over forks returns and raises, with threads and with asyncio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypedDict, TypeVar

from .errors import OffshootError

T = TypeVar("T")
Ending = Literal["all", "stop_at", "time", "forks"]


class Budget(TypedDict, total=False):
    """Limits of a search. Branches that have not begun by then are skipped, those that run are cancelled."""

    seconds: float
    forks: int


@dataclass(frozen=True)
class Scored(Generic[T]):
    """The branch has run and was rated."""

    name: str
    score: float | None
    """``None``: it must not win."""
    value: T
    outcome: Literal["scored"] = "scored"


@dataclass(frozen=True)
class Failed:
    """The branch has raised an error, or its fork has failed."""

    name: str
    error: Exception
    outcome: Literal["failed"] = "failed"


@dataclass(frozen=True)
class Cancelled:
    """The branch ran when the search ended."""

    name: str
    outcome: Literal["cancelled"] = "cancelled"


@dataclass(frozen=True)
class Skipped:
    """The search ended before the branch began."""

    name: str
    outcome: Literal["skipped"] = "skipped"


Outcome = Scored[T] | Failed | Cancelled | Skipped
"""What became of a branch."""


class ForksLeftError(OffshootError):
    """A search has failed, and these forks of it could not be deleted. Their time to live ends them."""

    def __init__(self, sandbox_ids: Sequence[str], errors: Sequence[Exception]) -> None:
        super().__init__(f"these forks could not be deleted: {', '.join(sandbox_ids)}")
        self.sandbox_ids = sandbox_ids
        self.errors = errors
        """Why not."""


class Stopped(Exception):
    """The search ended before the work of this branch."""
