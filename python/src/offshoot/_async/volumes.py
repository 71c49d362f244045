"""Volumes."""

from __future__ import annotations

from datetime import datetime

from .._values import QueryValue, given
from ..types import Volume as VolumeInfo
from ..types import VolumeSnapshot
from .lists import AsyncList
from .resource import AsyncResource, delete_if_there
from .scope import AsyncScope
from .transport import AsyncTransport


class AsyncVolume(AsyncResource[VolumeInfo]):
    """Storage that outlives sandboxes. ``with`` deletes a volume that the program has made."""

    def __init__(self, transport: AsyncTransport, info: VolumeInfo, *, is_owned: bool) -> None:
        super().__init__(AsyncScope(transport, "/v1/volumes").below(info["name"]), info, is_owned=is_owned)
        self.name = info["name"]
        self.snapshots = AsyncVolumeSnapshots(self._scope)

    async def resize(self, size_mb: int) -> AsyncVolume:
        """Grows the volume, also under a running sandbox."""
        self.info = await self._scope.patch({"size_mb": size_mb}, idempotent=True)
        return self

    async def clone(self, name: str, *, idempotency_key: str | None = None) -> AsyncVolume:
        """Makes another volume with the content of this instant."""
        info = await self._scope.post("/clone", {"name": name}, creates=True, idempotency_key=idempotency_key)
        return AsyncVolume(self._scope.transport, info, is_owned=True)


class AsyncVolumeSnapshots:
    """The snapshots of a volume."""

    def __init__(self, scope: AsyncScope) -> None:
        self._scope = scope.below("snapshots")

    async def create(self) -> VolumeSnapshot:
        """Keeps the content of this instant. New volumes can start from it (``from_snapshot``)."""
        snapshot: VolumeSnapshot = await self._scope.post("", creates=True)
        return snapshot

    def list(self, *, limit: int | None = None) -> AsyncList[VolumeSnapshot]:
        """The snapshots, newest first."""
        return self._scope.list("", {"limit": limit})

    async def delete(self, snapshot_id: str) -> None:
        """Deletes a snapshot. It is no error if there is none."""
        await delete_if_there(self._scope.below(snapshot_id))


class AsyncVolumes:
    """The volumes of a workspace."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._scope = AsyncScope(transport, "/v1/volumes")

    async def create(
        self,
        name: str,
        *,
        size_mb: int | None = None,
        from_snapshot: str | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncVolume:
        """Makes a volume.

        :param size_mb: default: 256
        :param from_snapshot: id of a snapshot of a volume
        :raises ConflictError: there is one of that name
        """
        body = given({"name": name, "size_mb": size_mb, "from_snapshot": from_snapshot})
        info = await self._scope.post("", body, creates=True, idempotency_key=idempotency_key)
        return AsyncVolume(self._transport, info, is_owned=True)

    async def get(self, name: str) -> AsyncVolume:
        """
        :raises NotFoundError: there is none
        """
        return AsyncVolume(self._transport, await self._scope.below(name).get(), is_owned=False)

    def list(
        self,
        *,
        name: str | None = None,
        attached: bool | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> AsyncList[AsyncVolume]:
        """The volumes, newest first."""
        query: dict[str, QueryValue] = {
            "name": name,
            "attached": attached,
            "created_after": created_after,
            "created_before": created_before,
            "limit": limit,
        }
        return AsyncList(
            self._transport, "/v1/volumes", query, lambda info: AsyncVolume(self._transport, info, is_owned=False)
        )

    async def delete(self, name: str) -> None:
        """Deletes a volume. It is no error if there is none.

        :raises ConflictError: a sandbox has it
        """
        await delete_if_there(self._scope.below(name))
