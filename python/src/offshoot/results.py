"""Small objects that calls return. Records of the API are in :mod:`offshoot.types`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

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
