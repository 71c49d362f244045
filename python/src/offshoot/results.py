"""Small objects that calls return. Records of the API are in :mod:`offshoot.types`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict, TypeVar

from .types import CodeResult

D = TypeVar("D", str, bytes)


@dataclass(frozen=True)
class ExecResult:
    """How a command ended."""

    stdout: str
    stderr: str
    exit_code: int
    """128 + signal if a signal ended the command."""
    duration_ms: int
    is_truncated: bool = False
    """Whether a stream had more than 16 Mi characters, of which the rest was dropped."""

    @property
    def ok(self) -> bool:
        """Whether the exit code is 0."""
        return self.exit_code == 0


@dataclass(frozen=True)
class OutputChunk(Generic[D]):
    """A part of the output of a command. A text never splits a character; U+FFFD replaces invalid UTF-8 in it."""

    stream: Literal["stdout", "stderr"]
    data: D
    offset: int | None = None
    """Of a background command: the offset at which the next part begins."""


@dataclass(frozen=True)
class CommandExit:
    """The end of a command."""

    exit_code: int
    """128 + signal if a signal ended it."""
    duration_ms: int


@dataclass(frozen=True)
class CodeFailure:
    """An exception that the code did not catch."""

    name: str
    value: str
    traceback: str


@dataclass(frozen=True)
class Execution:
    """What an execution of code has left."""

    text: str | None
    """Of the value of the last expression; ``None`` without one."""
    results: Sequence[CodeResult]
    stdout: str
    stderr: str
    error: CodeFailure | None
    """``None`` if the code succeeded."""
    execution_count: int
    duration_ms: int


@dataclass(frozen=True)
class FileChange:
    """A change in a watched directory. A name that is not valid UTF-8 has surrogate escapes, as in ``os.fsdecode``."""

    type: Literal["created", "modified", "deleted", "moved", "overflow"]
    """``overflow``: changes were lost, so list the directory again. It has no path."""
    path: str = ""
    to: str | None = None
    """The new path of what was moved."""
    is_dir: bool = False


class Column(TypedDict):
    """A column of the answer to a statement."""

    name: str
    type: str


@dataclass(frozen=True)
class QueryResult:
    """What a statement has returned. ``int8`` and ``numeric`` are strings, as the server sends them."""

    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[Column]
    is_truncated: bool
    """Whether there are more rows than ``max_rows``, or than fit into one answer."""
    duration_ms: int


def query_result(answer: Mapping[str, Any]) -> QueryResult:
    names = [column["name"] for column in answer["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in answer["rows"]]
    return QueryResult(rows, answer["columns"], answer["truncated"], answer["duration_ms"])
