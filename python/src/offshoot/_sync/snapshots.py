# Generated from _async by tools/generate.py. Do not edit.
"""Snapshots of sandboxes."""

from __future__ import annotations

from datetime import datetime

from .._values import QueryValue
from ..types import Snapshot
from .lists import List
from .resource import delete_if_there
from .scope import Scope
from .transport import Transport


class Snapshots:
    """The snapshots of a workspace. :meth:`Sandbox.snapshot` makes them."""

    def __init__(self, transport: Transport) -> None:
        self._scope = Scope(transport, "/v1/snapshots")

    def get(self, snapshot_id: str) -> Snapshot:
        """
        :raises NotFoundError: there is none
        """
        snapshot: Snapshot = self._scope.below(snapshot_id).get()
        return snapshot

    def list(
        self,
        *,
        name: str | None = None,
        sandbox_id: str | None = None,
        template: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> List[Snapshot]:
        """The snapshots, newest first."""
        query: dict[str, QueryValue] = {
            "name": name,
            "sandbox_id": sandbox_id,
            "template": template,
            "created_after": created_after,
            "created_before": created_before,
            "limit": limit,
        }
        return self._scope.list("", query)

    def delete(self, snapshot_id: str) -> None:
        """Deletes a snapshot. It is no error if there is none. Its data goes with the last sandbox that needs it."""
        delete_if_there(self._scope.below(snapshot_id))
