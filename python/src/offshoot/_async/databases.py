"""PostgreSQL databases."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Literal

from .._values import QueryValue, given, timestamp
from ..results import QueryResult, query_result
from ..types import Database as DatabaseInfo
from ..types import (
    DatabaseBackup,
    DatabaseConnection,
    DatabaseStats,
    DatabaseStatus,
    DatabaseSummary,
    LogLine,
)
from . import _platform
from .lists import AsyncList
from .resource import AsyncResource, delete_if_there
from .scope import AsyncScope
from .streams import follow
from .transport import AsyncTransport

LogStream = Literal["stdout", "stderr", "both"]


class AsyncDatabase(AsyncResource[DatabaseInfo]):
    """A PostgreSQL server in a VM of its own. ``with`` deletes a database that the program has made."""

    def __init__(self, transport: AsyncTransport, info: DatabaseInfo, *, is_owned: bool) -> None:
        super().__init__(AsyncScope(transport, "/v1/databases").below(info["id"]), info, is_owned=is_owned)
        self.id = info["id"]
        self.backups = AsyncDatabaseBackups(self._scope)

    @property
    def connection_url(self) -> str:
        """For any client of PostgreSQL. It has the password in it."""
        return self.info["connection_url"]

    async def update(
        self,
        *,
        label: str | None = None,
        idle_timeout_seconds: int | None = None,
        always_on: bool | None = None,
        disk_mb: int | None = None,
    ) -> AsyncDatabase:
        """Changes these fields. The disk can only grow."""
        fields = {
            "label": label,
            "idle_timeout_seconds": idle_timeout_seconds,
            "always_on": always_on,
            "disk_mb": disk_mb,
        }
        self.info = await self._scope.patch(given(fields))
        return self

    async def connection(self) -> DatabaseConnection:
        """The current addresses and credentials."""
        connection: DatabaseConnection = await self._scope.get("/connection")
        return connection

    async def reset_credentials(self) -> AsyncDatabase:
        """Makes another password and broker token. Connections end."""
        self.info = await self._scope.post("/reset-credentials")
        return self

    async def query(
        self,
        sql: str,
        params: Sequence[Any] = (),
        *,
        database: str | None = None,
        statement_timeout_ms: int | None = None,
        max_rows: int | None = None,
    ) -> QueryResult:
        """Runs a statement over HTTP, which needs no driver. It wakes a sleeping database.

        :param params: the values of ``$1``, ``$2`` and so on
        :param database: default: ``app``
        :param statement_timeout_ms: at most 600,000; default: 30,000
        :param max_rows: at most 100,000; default: 1,000
        :raises BadRequestError: an error of PostgreSQL; ``body`` has its ``code``, ``detail``, ``hint``, ``position``
        """
        body = {"sql": sql, "params": list(params)}
        return query_result(await self._broker("query", body, database, statement_timeout_ms, max_rows))

    async def transaction(
        self,
        statements: Sequence[str | tuple[str, Sequence[Any]]],
        *,
        database: str | None = None,
        statement_timeout_ms: int | None = None,
        max_rows: int | None = None,
    ) -> list[QueryResult]:
        """Runs all of the statements, or none.

        :param statements: each a text, or a text and the values of ``$1``, ``$2`` and so on
        :raises BadRequestError: as :meth:`query`
        """
        pairs = [(each, ()) if isinstance(each, str) else each for each in statements]
        body = {"statements": [{"sql": sql, "params": list(params)} for sql, params in pairs]}
        answer = await self._broker("transaction", body, database, statement_timeout_ms, max_rows)
        return [query_result(each) for each in answer["results"]]

    async def _broker(
        self, path: str, body: dict[str, Any], database: str | None, timeout_ms: int | None, max_rows: int | None
    ) -> Any:
        body.update(given({"database": database, "timeout_ms": timeout_ms, "max_rows": max_rows}))
        # The broker takes only the credential of the database.
        headers = {"authorization": f"Bearer {self.info['broker_token']}"}
        return await self._scope.post(f"/proxy/v1/{path}", body, headers=headers)

    async def branch(
        self, *, label: str | None = None, at: str | None = None, idempotency_key: str | None = None
    ) -> AsyncDatabase:
        """Makes another database with all data of this instant, or of a backup.

        :param at: id of the backup
        """
        return await self._copy("/branch", given({"label": label, "at": at}), idempotency_key)

    async def restore(
        self, time: str | datetime, *, label: str | None = None, idempotency_key: str | None = None
    ) -> AsyncDatabase:
        """Makes another database, as this one was at that time."""
        return await self._copy("/restore", given({"time": timestamp(time), "label": label}), idempotency_key)

    async def _copy(self, path: str, body: object, key: str | None) -> AsyncDatabase:
        info = await self._scope.post(path, body, creates=True, idempotency_key=key)
        return AsyncDatabase(self._scope.transport, info, is_owned=True)

    async def stats(self) -> DatabaseStats:
        """Size, connections, slow statements and the state of the archive."""
        stats: DatabaseStats = await self._scope.get("/stats")
        return stats

    async def logs(self, *, stream: LogStream | None = None, tail: int | None = None) -> list[LogLine]:
        """The lines of the log until now."""
        headers = {"accept": "application/json"}
        lines: list[LogLine] = await self._scope.get("/logs", {"stream": stream, "tail": tail}, headers=headers)
        return lines

    async def follow_logs(self, *, stream: LogStream | None = None, tail: int | None = None) -> AsyncIterator[LogLine]:
        """Yields the lines of the log, then new ones. A broken connection is continued where it was."""
        query = {"stream": stream, "tail": tail, "follow": True}
        lines = follow(self._scope.transport, f"{self._scope.path}/logs", query, is_last=lambda _: False)
        async with _platform.closing(lines):
            async for each in lines:
                line: LogLine = json.loads(each.data)
                yield line


class AsyncDatabaseBackups:
    """The backups of a database."""

    def __init__(self, scope: AsyncScope) -> None:
        self._scope = scope.below("backups")

    async def create(self) -> DatabaseBackup:
        """Makes a backup. The server verifies it later."""
        backup: DatabaseBackup = await self._scope.post("", creates=True)
        return backup

    def list(
        self,
        *,
        origin: Literal["request", "daily"] | None = None,
        verified: Literal["pending", "ok", "failed"] | None = None,
        limit: int | None = None,
    ) -> AsyncList[DatabaseBackup]:
        """The backups, newest first."""
        return self._scope.list("", {"origin": origin, "verified": verified, "limit": limit})

    async def delete(self, backup_id: str) -> None:
        """Deletes a backup. It is no error if there is none."""
        await delete_if_there(self._scope.below(backup_id))


class AsyncDatabases:
    """The databases of a workspace."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._scope = AsyncScope(transport, "/v1/databases")

    async def create(
        self, *, label: str | None = None, size: str | None = None, idempotency_key: str | None = None
    ) -> AsyncDatabase:
        """Makes a database and waits until it takes connections.

        :param size: ``1g`` (default), ``4g`` or ``16g`` of memory
        """
        body = given({"label": label, "size": size})
        info = await self._scope.post("", body, creates=True, idempotency_key=idempotency_key)
        return AsyncDatabase(self._transport, info, is_owned=True)

    async def get(self, database_id: str) -> AsyncDatabase:
        """
        :raises NotFoundError: there is none
        """
        return AsyncDatabase(self._transport, await self._scope.below(database_id).get(), is_owned=False)

    def list(
        self,
        *,
        label: str | None = None,
        size: str | None = None,
        status: DatabaseStatus | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> AsyncList[DatabaseSummary]:
        """The databases without their credentials, newest first."""
        query: dict[str, QueryValue] = {
            "label": label,
            "size": size,
            "status": status,
            "created_after": created_after,
            "created_before": created_before,
            "limit": limit,
        }
        return self._scope.list("", query)

    async def delete(self, database_id: str) -> None:
        """Deletes a database and its backups. It is no error if there is none."""
        await delete_if_there(self._scope.below(database_id))
