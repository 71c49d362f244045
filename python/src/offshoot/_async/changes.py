"""The changes of a workspace."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Literal

from ..types import Change
from . import _platform
from .streams import follow
from .transport import AsyncTransport


async def follow_changes(transport: AsyncTransport) -> AsyncIterator[Change | Literal["everything"]]:
    """See :meth:`AsyncOffshoot.changes`."""
    stream = follow(transport, "/v1/changes", {}, is_last=lambda _: False)
    async with _platform.closing(stream):
        async for each in stream:
            if each.event == "change":
                change: Change = json.loads(each.data)
                yield change
            elif each.event in ("connected", "missed"):
                yield "everything"
