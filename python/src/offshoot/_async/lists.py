"""Lists that come in pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from .._values import QueryValue
from .transport import AsyncTransport

T = TypeVar("T")
_NEXT = re.compile(r'<([^>]*)>\s*;\s*rel="next"')


class AsyncList(Generic[T]):
    """A list of the API. Iterating asks for one page after another; :meth:`all` collects them."""

    def __init__(
        self,
        transport: AsyncTransport,
        path: str,
        query: Mapping[str, QueryValue],
        read: Callable[[Any], T],
    ) -> None:
        self._transport = transport
        self._path = path
        self._query = query
        self._read = read

    async def pages(self) -> AsyncIterator[list[T]]:
        """The pages, each of at most ``limit`` entries."""
        path, query = self._path, self._query
        while True:
            response = await self._transport.request("GET", path, query=query)
            yield [self._read(entry) for entry in response.json()]
            following = _NEXT.search(response.headers.get("link", ""))
            if following is None:
                return
            # Only the path: the server may know itself by another address than this client does.
            address = urlsplit(following[1])
            path, query = f"{self._path}?{address.query}", {}

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for entry in page:
                yield entry

    async def all(self) -> list[T]:
        """Every entry."""
        return [entry async for entry in self]

    async def first(self) -> T | None:
        """The first entry; ``None`` if there is none."""
        async for page in self.pages():
            return page[0] if page else None
        return None
