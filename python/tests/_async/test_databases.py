"""Databases, against a real server with the template ``postgres-16``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timezone

import pytest

from offshoot import AsyncOffshoot, BadRequestError, NotFoundError

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def client(anyio_backend: str) -> AsyncIterator[AsyncOffshoot]:
    """A client that waits for a restore on a busy machine."""
    async with AsyncOffshoot(timeout=600) as client:
        yield client


async def test_keeps_databases(client: AsyncOffshoot) -> None:
    with pytest.raises(BadRequestError):
        await client.databases.create(size="3g")
    async with await client.databases.create(label="python") as database:
        assert database.connection_url.startswith("postgresql://")
        assert (await client.databases.get(database.id)).info["label"] == "python"
        listed = await client.databases.list(label="python", status="running").all()
        assert [each["id"] for each in listed] == [database.id]

        await database.transaction(
            ["create table people (id int, name text)", ("insert into people values ($1, $2), (2, 'Bo')", [1, "Ann"])]
        )
        found = await database.query("select id, name from people where id > $1 order by id", [0], max_rows=1)
        assert (found.rows, found.is_truncated) == ([{"id": 1, "name": "Ann"}], True)
        assert [column["name"] for column in found.columns] == ["id", "name"]
        with pytest.raises(BadRequestError) as refused:
            await database.query("select missing")
        assert refused.value.body["code"] == "42703"
        assert (await database.query("select 1 as one", database="postgres", statement_timeout_ms=1000)).rows

        async with await database.branch(label="branch") as branch:
            assert branch.info["parent_id"] == database.id
            await branch.query("delete from people")
            assert len((await database.query("select * from people")).rows) == 2
        backup = await database.backups.create()
        assert backup["id"] in [each["id"] for each in await database.backups.list(origin="request").all()]
        async with await database.branch(at=backup["id"]) as restored:
            assert len((await restored.query("select * from people")).rows) == 2
        async with await database.restore(datetime.now(timezone.utc), label="past") as past:
            assert past.info["label"] == "past"
            assert len((await past.query("select * from people")).rows) == 2
        with pytest.raises(BadRequestError):
            await database.restore("2001-01-01T00:00:00Z")
        await database.backups.delete(backup["id"])
        await database.backups.delete(backup["id"])

        assert (await database.update(label="renamed", idle_timeout_seconds=600)).info["label"] == "renamed"
        before = database.info["password"]
        assert (await database.reset_credentials()).info["password"] != before
        assert (await database.connection())["connection_url"] == database.connection_url
        assert (await database.query("select 1 as one")).rows == [{"one": 1}]
        assert (await database.stats())["max_connections"] > 0
        lines = await database.logs(tail=5)
        async for line in database.follow_logs(tail=5):
            assert line in lines or line["line"]
            break
    with pytest.raises(NotFoundError):
        await database.refresh()
    await client.databases.delete(database.id)
