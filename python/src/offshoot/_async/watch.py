"""Changes in a directory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

from .._values import QueryValue, shown_path
from ..errors import ConnectionError, NotFoundError, OffshootError, ServerError
from ..results import FileChange
from . import _platform
from .scope import AsyncScope
from .streams import AsyncReconnects


class AsyncWatch:
    """The changes in a directory. Iterate over it; ``with`` ends it. After a broken connection it continues with the
    change ``overflow``."""

    def __init__(self, scope: AsyncScope, query: dict[str, QueryValue]) -> None:
        self._scope = scope
        self._query = query
        self._response: Any = None
        self._events: Any = None

    async def connect(self) -> None:
        transport = self._scope.transport
        self._response = await transport.stream(
            "GET", f"{self._scope.path}/fs/watch", query=self._query, headers={"accept": "text/event-stream"}
        )
        self._events = transport.events(self._response)

    async def __aenter__(self) -> AsyncWatch:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the watch."""
        if self._events is not None:
            await _platform.close_iterator(self._events)
        # An iterator that was never begun closes nothing.
        await _platform.close_response(self._response)

    async def __aiter__(self) -> AsyncIterator[FileChange]:
        """Yields the changes, until the sandbox is deleted.

        :raises OffshootError: the directory is gone, or the VM
        :raises ConnectionError: several attempts in a row to continue have failed
        """
        reconnects = AsyncReconnects()
        reconnects.opened()
        while True:
            cause: Exception | None = None
            try:
                if self._events is None:
                    await self.connect()
                    reconnects.opened()
                    # Only now: a list that the caller makes before the new watch would miss what follows it.
                    yield FileChange("overflow")
                async for event in self._events:
                    reconnects.worked()
                    data = json.loads(event.data)
                    if event.event == "error":
                        raise OffshootError(data["error"])
                    yield _change(event.event, data)
            except NotFoundError as error:
                if is_no_file(error):
                    raise
                return
            except (ConnectionError, ServerError) as error:
                cause = error
            # An agent that restarts ends the stream, too.
            self._events = None
            await reconnects.wait("the watch of a directory", cause)


def _change(kind: Any, data: dict[str, Any]) -> FileChange:
    to = shown_path(data, "to") if "to" in data else None
    return FileChange(kind, shown_path(data, "path"), to, data.get("is_dir", False))


def is_no_file(error: NotFoundError) -> bool:
    """Whether the refusal is about the path, not about the sandbox."""
    return error.error == "no such file or directory"
