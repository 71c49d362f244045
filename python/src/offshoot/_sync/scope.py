# Generated from _async by tools/generate.py. Do not edit.
"""Requests below one object of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .._values import QueryValue, path_segment
from .lists import List
from .transport import Transport

T = TypeVar("T")


class Scope:
    """The routes below an object, such as a sandbox or a command."""

    def __init__(self, transport: Transport, path: str) -> None:
        self.transport = transport
        self.path = path

    def below(self, *segments: str) -> Scope:
        return Scope(self.transport, "/".join([self.path, *map(path_segment, segments)]))

    def list(self, path: str, query: Mapping[str, QueryValue], read: Callable[[Any], T] | None = None) -> List[T]:
        return List(self.transport, self.path + path, query, read or (lambda entry: entry))

    def get(self, path: str = "", query: Mapping[str, QueryValue] | None = None, **options: Any) -> Any:
        return self.transport.json("GET", self.path + path, query=query, **options)

    def post(self, path: str, body: object = None, **options: Any) -> Any:
        return self.transport.json("POST", self.path + path, body={} if body is None else body, **options)

    def patch(self, body: object, **options: Any) -> Any:
        return self.transport.json("PATCH", self.path, body=body, **options)

    def delete(self, path: str = "", query: Mapping[str, QueryValue] | None = None) -> None:
        self.transport.request("DELETE", self.path + path, query=query)
