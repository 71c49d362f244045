# Generated from _async by tools/generate.py. Do not edit.
"""Databases, against a real server with the template ``postgres-16``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from offshoot import BadRequestError, NotFoundError, Offshoot

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def client(anyio_backend: str) -> Iterator[Offshoot]:
    """A client that waits for a restore on a busy machine."""
    with Offshoot(timeout=600) as client:
        yield client


def test_keeps_databases(client: Offshoot) -> None:
    with pytest.raises(BadRequestError):
        client.databases.create(size="3g")
    with client.databases.create(label="python") as database:
        assert database.connection_url.startswith("postgresql://")
        assert (client.databases.get(database.id)).info["label"] == "python"
        listed = client.databases.list(label="python", status="running").all()
        assert [each["id"] for each in listed] == [database.id]

        database.transaction(
            ["create table people (id int, name text)", ("insert into people values ($1, $2), (2, 'Bo')", [1, "Ann"])]
        )
        found = database.query("select id, name from people where id > $1 order by id", [0], max_rows=1)
        assert (found.rows, found.is_truncated) == ([{"id": 1, "name": "Ann"}], True)
        assert [column["name"] for column in found.columns] == ["id", "name"]
        with pytest.raises(BadRequestError) as refused:
            database.query("select missing")
        assert refused.value.body["code"] == "42703"
        assert (database.query("select 1 as one", database="postgres", statement_timeout_ms=1000)).rows

        with database.branch(label="branch") as branch:
            assert branch.info["parent_id"] == database.id
            branch.query("delete from people")
            assert len((database.query("select * from people")).rows) == 2
        backup = database.backups.create()
        assert backup["id"] in [each["id"] for each in database.backups.list(origin="request").all()]
        with database.branch(at=backup["id"]) as restored:
            assert len((restored.query("select * from people")).rows) == 2
        with database.restore(datetime.now(timezone.utc), label="past") as past:
            assert past.info["label"] == "past"
            assert len((past.query("select * from people")).rows) == 2
        with pytest.raises(BadRequestError):
            database.restore("2001-01-01T00:00:00Z")
        database.backups.delete(backup["id"])
        database.backups.delete(backup["id"])

        assert (database.update(label="renamed", idle_timeout_seconds=600)).info["label"] == "renamed"
        before = database.info["password"]
        assert (database.reset_credentials()).info["password"] != before
        assert (database.connection())["connection_url"] == database.connection_url
        assert (database.query("select 1 as one")).rows == [{"one": 1}]
        assert (database.stats())["max_connections"] > 0
        lines = database.logs(tail=5)
        for line in database.follow_logs(tail=5):
            assert line in lines or line["line"]
            break
    with pytest.raises(NotFoundError):
        database.refresh()
    client.databases.delete(database.id)
