# Generated from _async by tools/generate.py. Do not edit.
"""Streams of events that go on where their connection broke."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from .._config import SILENCE_SECONDS
from .._retry import delay_before
from .._sse import ServerSentEvent
from .._values import QueryValue
from ..errors import ConnectionError, NotFoundError, ServerError
from . import _platform
from .transport import Transport

MAX_FRUITLESS = 8
"""Short connections in a row that bring no event."""
LONG_SECONDS = 2 * SILENCE_SECONDS
"""So long a connection has worked, even if nothing happened in it."""


def follow(
    transport: Transport,
    path: str,
    query: Mapping[str, QueryValue],
    *,
    is_last: Callable[[ServerSentEvent], bool],
    after: str | None = None,
) -> Iterator[ServerSentEvent]:
    """Yields the events of a stream with positions, the last one included. After a break it continues after the last
    event that it had, so none is missing or repeated. It also ends when the followed object is deleted.

    :raises ConnectionError: several attempts in a row have failed
    """
    has_begun = False
    fruitless = 0
    while True:
        began = time.monotonic()
        headers = {"accept": "text/event-stream"}
        if after is not None:
            headers["last-event-id"] = after
        cause: Exception | None = None
        try:
            response = transport.stream("GET", path, query=query, headers=headers)
            has_begun = True
            with _platform.closing(transport.events(response)) as events:
                for event in events:
                    fruitless = 0
                    after = event.id if event.id is not None else after
                    yield event
                    if is_last(event):
                        return
        except NotFoundError:
            if not has_begun:
                raise
            return
        except (ConnectionError, ServerError) as error:
            if not has_begun:
                raise
            cause = error
        # The server ends a long stream without harm.
        fruitless = 0 if time.monotonic() - began > LONG_SECONDS else fruitless + 1
        if fruitless > MAX_FRUITLESS:
            raise ConnectionError(f"GET {path}: the stream ends again and again") from cause
        _platform.sleep(delay_before(fruitless) or 0)
