"""Requests below one object of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .._values import QueryValue, path_segment
from .lists import AsyncList
from .transport import AsyncTransport

T = TypeVar("T")


class AsyncScope:
    """The routes below an object, such as a sandbox or a command."""

    def __init__(self, transport: AsyncTransport, path: str) -> None:
        self.transport = transport
        self.path = path

    def below(self, *segments: str) -> AsyncScope:
        return AsyncScope(self.transport, "/".join([self.path, *map(path_segment, segments)]))

    def list(self, path: str, query: Mapping[str, QueryValue], read: Callable[[Any], T] | None = None) -> AsyncList[T]:
        return AsyncList(self.transport, self.path + path, query, read or (lambda entry: entry))

    async def get(self, path: str = "", query: Mapping[str, QueryValue] | None = None, **options: Any) -> Any:
        return await self.transport.json("GET", self.path + path, query=query, **options)

    async def post(self, path: str, body: object = None, **options: Any) -> Any:
        return await self.transport.json("POST", self.path + path, body={} if body is None else body, **options)

    async def patch(self, body: object, **options: Any) -> Any:
        return await self.transport.json("PATCH", self.path, body=body, **options)

    async def delete(self, path: str = "", query: Mapping[str, QueryValue] | None = None) -> None:
        await self.transport.request("DELETE", self.path + path, query=query)
