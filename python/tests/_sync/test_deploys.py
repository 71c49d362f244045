# Generated from _async by tools/generate.py. Do not edit.
"""Deploys, against a real server with the template ``app``. OFFSHOOT_TEST_GIT_URL is a repository with the branches
``main`` and ``next``, whose programs print their version when they begin."""

from __future__ import annotations

import os
import uuid

import pytest

from offshoot import Offshoot

pytestmark = pytest.mark.anyio


def test_deploys_an_app_and_goes_back(client: Offshoot) -> None:
    name = f"python-{uuid.uuid4().hex[:8]}"
    with client.apps.create(name, os.environ["OFFSHOOT_TEST_GIT_URL"]) as app:
        first = app.deploy()
        lines: list[str] = []
        assert (first.wait(on_log=lines.append))["status"] == "live"
        assert lines == (first.logs()).splitlines()
        assert "version one" in app.logs()

        second = app.deploy(git_ref="next")
        assert (second.wait())["status"] == "live"
        assert (first.refresh())["status"] == "superseded"
        for line in app.follow_logs():
            if "version two" in line:
                break
        back = app.rollback(deployment_id=first.id)
        assert (back.wait())["status"] == "live"
        assert "version one" in app.logs()
        cancelled = app.deploy()
        cancelled.cancel()
        assert [each.id for each in app.deployments(status="live").all()] == [back.id]
