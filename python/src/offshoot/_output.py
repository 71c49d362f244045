"""Commands and their output on the wire."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

CommandLine = Union[str, Sequence[str]]
"""A shell command, or a program with its arguments, which runs without a shell."""
Encoding = Literal["text", "bytes"]


def command_body(
    command: CommandLine,
    *,
    cwd: str | None,
    env: Mapping[str, str] | None,
    user: str | None,
    timeout_seconds: int | None,
    stdin: str | bytes | None,
) -> dict[str, Any]:
    fields: dict[str, Any] = {"cmd": command} if isinstance(command, str) else {"argv": list(command)}
    how = {"cwd": cwd, "env": None if env is None else dict(env), "user": user, "timeout_seconds": timeout_seconds}
    fields.update({name: value for name, value in how.items() if value is not None})
    if stdin is not None:
        fields.update(wire_input(stdin))
    return fields


def wire_input(stdin: str | bytes) -> dict[str, str]:
    if isinstance(stdin, str):
        return {"stdin": stdin}
    return {"stdin": base64.b64encode(stdin).decode(), "encoding": "base64"}


def wire_encoding(encoding: Encoding) -> str:
    return "base64" if encoding == "bytes" else "utf8"


class ChunkDecoder:
    """Turns chunks of the wire into what the caller asked for."""

    def __init__(self, encoding: Encoding, *, is_coded: bool) -> None:
        self._encoding = encoding
        self._is_coded = is_coded
        make = codecs.getincrementaldecoder("utf-8")
        self._text = {"stdout": make("replace"), "stderr": make("replace")}

    def decode(self, stream: str, chunk: str) -> str | bytes:
        if not self._is_coded:
            return chunk
        data = base64.b64decode(chunk)
        return data if self._encoding == "bytes" else self._text[stream].decode(data)
