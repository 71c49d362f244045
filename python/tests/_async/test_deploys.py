"""Deploys, against a real server with the template ``app``. OFFSHOOT_TEST_GIT_URL is a repository with the branches
``main`` and ``next``, whose programs print their version when they begin."""

from __future__ import annotations

import os
import uuid

import pytest

from offshoot import AsyncOffshoot

pytestmark = pytest.mark.anyio


async def test_deploys_an_app_and_goes_back(client: AsyncOffshoot) -> None:
    name = f"python-{uuid.uuid4().hex[:8]}"
    async with await client.apps.create(name, os.environ["OFFSHOOT_TEST_GIT_URL"]) as app:
        first = await app.deploy()
        lines: list[str] = []
        assert (await first.wait(on_log=lines.append))["status"] == "live"
        assert lines == (await first.logs()).splitlines()
        assert "version one" in await app.logs()

        second = await app.deploy(git_ref="next")
        assert (await second.wait())["status"] == "live"
        assert (await first.refresh())["status"] == "superseded"
        async for line in app.follow_logs():
            if "version two" in line:
                break
        back = await app.rollback(deployment_id=first.id)
        assert (await back.wait())["status"] == "live"
        assert "version one" in await app.logs()
        cancelled = await app.deploy()
        await cancelled.cancel()
        assert [each.id for each in await app.deployments(status="live").all()] == [back.id]
