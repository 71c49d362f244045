# Generated from _async by tools/generate.py. Do not edit.
"""Lists that come in pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from .._values import QueryValue
from .transport import Transport

T = TypeVar("T")
_NEXT = re.compile(r'<([^>]*)>\s*;\s*rel="next"')


class List(Generic[T]):
    """A list of the API. Iterating asks for one page after another; :meth:`all` collects them."""

    def __init__(
        self,
        transport: Transport,
        path: str,
        query: Mapping[str, QueryValue],
        read: Callable[[Any], T],
    ) -> None:
        self._transport = transport
        self._path = path
        self._query = query
        self._read = read

    def pages(self) -> Iterator[list[T]]:
        """The pages, each of at most ``limit`` entries."""
        path, query = self._path, self._query
        while True:
            response = self._transport.request("GET", path, query=query)
            yield [self._read(entry) for entry in response.json()]
            following = _NEXT.search(response.headers.get("link", ""))
            if following is None:
                return
            # Only the path: the server may know itself by another address than this client does.
            address = urlsplit(following[1])
            path, query = f"{self._path}?{address.query}", {}

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for entry in page:
                yield entry

    def all(self) -> list[T]:
        """Every entry."""
        return [entry for entry in self]

    def first(self) -> T | None:
        """The first entry; ``None`` if there is none."""
        for page in self.pages():
            return page[0] if page else None
        return None
