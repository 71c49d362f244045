# Generated from _async by tools/generate.py. Do not edit.
"""The changes of a workspace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from ..types import Change
from . import _platform
from .streams import follow
from .transport import Transport


def follow_changes(transport: Transport) -> Iterator[Change | Literal["everything"]]:
    """See :meth:`Offshoot.changes`."""
    stream = follow(transport, "/v1/changes", {}, is_last=lambda _: False)
    with _platform.closing(stream):
        for each in stream:
            if each.event == "change":
                change: Change = json.loads(each.data)
                yield change
            elif each.event in ("connected", "missed"):
                yield "everything"
