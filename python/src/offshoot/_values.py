"""Values on their way to the server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Union
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes

SandboxPath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
"""An absolute path in a sandbox. Bytes for names that are not valid UTF-8."""
QueryValue = Union[str, bytes, int, float, bool, datetime, Sequence[str], None]


def path_segment(value: str) -> str:
    """One segment of a URL. A slash or a dot segment cannot lead to another route."""
    segment = quote(value, safe="")
    # `quote` leaves dots alone, and every URL parser takes `..` for the parent.
    return segment.replace(".", "%2E") if segment in (".", "..") else segment


def path_bytes(path: SandboxPath) -> bytes:
    return os.fsencode(path)


def shown_path(entry: Mapping[str, Any], name: str) -> str:
    """A path in an answer, as ``os.fsdecode`` gives it."""
    encoded = entry.get(f"{name}_encoded")
    return str(entry.get(name, "")) if encoded is None else os.fsdecode(unquote_to_bytes(encoded))


def query_string(query: Mapping[str, QueryValue]) -> str:
    """Without the entries that are ``None``."""
    pairs = [f"{quote(name, safe='')}={_query_text(value)}" for name, value in query.items() if value is not None]
    return "?" + "&".join(pairs) if pairs else ""


def _query_text(value: QueryValue) -> str:
    if isinstance(value, bytes):
        return quote_from_bytes(value, safe="/")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return quote(timestamp(value), safe="")
    if isinstance(value, (str, int, float)):
        return quote(str(value), safe="")
    return ",".join(quote(each, safe="") for each in value or ())


def timestamp(value: datetime | str) -> str:
    """RFC 3339. A naive time is taken as local time, as everywhere in Python."""
    if isinstance(value, str):
        return value
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not ``None``."""
    return {name: value for name, value in fields.items() if value is not None}


def octal(mode: int | str | None) -> str | None:
    """``0o644`` as ``0644``."""
    return f"{mode:04o}" if isinstance(mode, int) else mode
