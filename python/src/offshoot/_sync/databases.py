# Generated from _async by tools/generate.py. Do not edit.
"""PostgreSQL databases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
from .lists import List
from .resource import Resource, delete_if_there
from .scope import Scope
from .streams import follow
from .transport import Transport

LogStream = Literal["stdout", "stderr", "both"]


class Database(Resource[DatabaseInfo]):
    """A PostgreSQL server in a VM of its own. ``with`` deletes a database that the program has made."""

    def __init__(self, transport: Transport, info: DatabaseInfo, *, is_owned: bool) -> None:
        super().__init__(Scope(transport, "/v1/databases").below(info["id"]), info, is_owned=is_owned)
        self.id = info["id"]
        self.backups = DatabaseBackups(self._scope)

    @property
    def connection_url(self) -> str:
        """For any client of PostgreSQL. It has the password in it."""
        return self.info["connection_url"]

    def update(
        self,
        *,
        label: str | None = None,
        idle_timeout_seconds: int | None = None,
        always_on: bool | None = None,
        disk_mb: int | None = None,
    ) -> Database:
        """Changes these fields. The disk can only grow."""
        fields = {
            "label": label,
            "idle_timeout_seconds": idle_timeout_seconds,
            "always_on": always_on,
            "disk_mb": disk_mb,
        }
        self.info = self._scope.patch(given(fields))
        return self

    def connection(self) -> DatabaseConnection:
        """The current addresses and credentials."""
        connection: DatabaseConnection = self._scope.get("/connection")
        return connection

    def reset_credentials(self) -> Database:
        """Makes another password and broker token. Connections end."""
        self.info = self._scope.post("/reset-credentials")
        return self

    def query(
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
        return query_result(self._broker("query", body, database, statement_timeout_ms, max_rows))

    def transaction(
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
        answer = self._broker("transaction", body, database, statement_timeout_ms, max_rows)
        return [query_result(each) for each in answer["results"]]

    def _broker(
        self, path: str, body: dict[str, Any], database: str | None, timeout_ms: int | None, max_rows: int | None
    ) -> Any:
        body.update(given({"database": database, "timeout_ms": timeout_ms, "max_rows": max_rows}))
        # The broker takes only the credential of the database.
        headers = {"authorization": f"Bearer {self.info['broker_token']}"}
        return self._scope.post(f"/proxy/v1/{path}", body, headers=headers)

    def branch(
        self, *, label: str | None = None, at: str | None = None, idempotency_key: str | None = None
    ) -> Database:
        """Makes another database with all data of this instant, or of a backup.

        :param at: id of the backup
        """
        return self._copy("/branch", given({"label": label, "at": at}), idempotency_key)

    def restore(
        self, time: str | datetime, *, label: str | None = None, idempotency_key: str | None = None
    ) -> Database:
        """Makes another database, as this one was at that time."""
        return self._copy("/restore", given({"time": timestamp(time), "label": label}), idempotency_key)

    def _copy(self, path: str, body: object, key: str | None) -> Database:
        info = self._scope.post(path, body, creates=True, idempotency_key=key)
        return Database(self._scope.transport, info, is_owned=True)

    def stats(self) -> DatabaseStats:
        """Size, connections, slow statements and the state of the archive."""
        stats: DatabaseStats = self._scope.get("/stats")
        return stats

    def logs(self, *, stream: LogStream | None = None, tail: int | None = None) -> list[LogLine]:
        """The lines of the log until now."""
        headers = {"accept": "application/json"}
        lines: list[LogLine] = self._scope.get("/logs", {"stream": stream, "tail": tail}, headers=headers)
        return lines

    def follow_logs(self, *, stream: LogStream | None = None, tail: int | None = None) -> Iterator[LogLine]:
        """Yields the lines of the log, then new ones. A broken connection is continued where it was."""
        query = {"stream": stream, "tail": tail, "follow": True}
        lines = follow(self._scope.transport, f"{self._scope.path}/logs", query, is_last=lambda _: False)
        with _platform.closing(lines):
            for each in lines:
                line: LogLine = json.loads(each.data)
                yield line


class DatabaseBackups:
    """The backups of a database."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope.below("backups")

    def create(self) -> DatabaseBackup:
        """Makes a backup. The server verifies it later."""
        backup: DatabaseBackup = self._scope.post("", creates=True)
        return backup

    def list(
        self,
        *,
        origin: Literal["request", "daily"] | None = None,
        verified: Literal["pending", "ok", "failed"] | None = None,
        limit: int | None = None,
    ) -> List[DatabaseBackup]:
        """The backups, newest first."""
        return self._scope.list("", {"origin": origin, "verified": verified, "limit": limit})

    def delete(self, backup_id: str) -> None:
        """Deletes a backup. It is no error if there is none."""
        delete_if_there(self._scope.below(backup_id))


class Databases:
    """The databases of a workspace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._scope = Scope(transport, "/v1/databases")

    def create(
        self, *, label: str | None = None, size: str | None = None, idempotency_key: str | None = None
    ) -> Database:
        """Makes a database and waits until it takes connections.

        :param size: ``1g`` (default), ``4g`` or ``16g`` of memory
        """
        body = given({"label": label, "size": size})
        info = self._scope.post("", body, creates=True, idempotency_key=idempotency_key)
        return Database(self._transport, info, is_owned=True)

    def get(self, database_id: str) -> Database:
        """
        :raises NotFoundError: there is none
        """
        return Database(self._transport, self._scope.below(database_id).get(), is_owned=False)

    def list(
        self,
        *,
        label: str | None = None,
        size: str | None = None,
        status: DatabaseStatus | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> List[DatabaseSummary]:
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

    def delete(self, database_id: str) -> None:
        """Deletes a database and its backups. It is no error if there is none."""
        delete_if_there(self._scope.below(database_id))
