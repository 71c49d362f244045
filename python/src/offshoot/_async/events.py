"""The events of a workspace."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

from .._values import QueryValue, given
from ..types import WorkspaceEvent
from . import _platform
from .streams import follow
from .transport import AsyncTransport

PATH = "/v1/events"
THE_BEGINNING = "1970-01-01T00:00:00.000Z"


def event_query(type: str | Sequence[str] | None, object: str | None, sandbox_id: str | None) -> dict[str, QueryValue]:
    return given({"type": type, "object": object, "sandbox_id": sandbox_id})


async def follow_events(
    transport: AsyncTransport, query: Mapping[str, QueryValue], since: str | datetime | None, tail: int | None
) -> AsyncIterator[WorkspaceEvent]:
    """See :meth:`AsyncOffshoot.events`."""
    position: str | None = None
    if since is None:
        # A stream that has sent nothing has no position, and after a break it would begin at a later event.
        position = await _last_event(transport)
        past = [] if tail == 0 else await transport.json("GET", PATH, query={**query, "tail": tail or 100})
        for event in past:
            position = event["id"]
            yield event
        since = None if position is not None else THE_BEGINNING
    stream = follow(transport, PATH, {**query, "since": since, "follow": True}, is_last=lambda _: False, after=position)
    async with _platform.closing(stream):
        async for each in stream:
            found: WorkspaceEvent = json.loads(each.data)
            yield found


async def _last_event(transport: AsyncTransport) -> str | None:
    last: list[WorkspaceEvent] = await transport.json("GET", PATH, query={"tail": 1})
    return last[0]["id"] if last else None
