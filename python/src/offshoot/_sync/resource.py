# Generated from _async by tools/generate.py. Do not edit.
"""Objects of the API."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, TypeVar

from typing_extensions import Self

from ..errors import NotFoundError
from .scope import Scope

Info = TypeVar("Info")


class Resource(Generic[Info]):
    """An object of the API. ``with`` deletes what the program has made; what it has only found stays."""

    def __init__(self, scope: Scope, info: Info, *, is_owned: bool) -> None:
        self._scope = scope
        self._is_owned = is_owned
        self.info: Info = info
        """As the server has last described it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._scope.path.rpartition('/')[2]!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_owned:
            self.delete()

    def refresh(self) -> Info:
        """Asks the server for the current description."""
        self.info = self._scope.get()
        return self.info

    def delete(self) -> None:
        """Deletes it. It is no error if it is gone already."""
        delete_if_there(self._scope)


def delete_if_there(scope: Scope) -> None:
    try:
        scope.delete()
    except NotFoundError:
        pass
