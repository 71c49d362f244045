# Generated from _async by tools/generate.py. Do not edit.
"""Searches over forks, against a real server."""

from __future__ import annotations

import pytest
from typing_extensions import assert_type

from offshoot import Cancelled, Exploration, Failed, Offshoot, Sandbox, Scored, Skipped, explore

pytestmark = pytest.mark.anyio


def value_of(fork: Sandbox) -> int:
    """What the branch before has written to the disk of its own fork, which is nothing."""
    fork.exec("echo x >> /tmp/tries", check=True)
    return len(fork.files.read("/tmp/tries"))


def fail(_: Sandbox) -> int:
    raise LookupError("no idea")


def sleep_long(fork: Sandbox) -> int:
    fork.exec("sleep 7773", check=True)
    return 0


def children(client: Offshoot, parent: Sandbox) -> int:
    listed = client.sandboxes.list(metadata={"purpose": parent.info["metadata"]["purpose"]})
    return len([each for each in listed if each.id != parent.id])


def test_keeps_the_best_branch_and_names_every_one(client: Offshoot, sandbox: Sandbox) -> None:
    branches = {"low": value_of, "failing": fail, "high": value_of, "unrated": value_of}
    scores = {"low": 1, "high": 2, "unrated": None}
    search = explore(sandbox, branches, score=lambda value, branch: scores[branch.name], concurrency=2)
    assert_type(search, Exploration[int])
    with search:
        assert search.best is not None
        assert (search.best.name, search.best.score, search.best.value) == ("high", 2, 2)
        assert search.best.sandbox.files.read("/tmp/tries") == "x\n"
        low, failing, high, unrated = search.branches
        assert (low, high, unrated) == (Scored("low", 1, 2), Scored("high", 2, 2), Scored("unrated", None, 2))
        assert isinstance(failing, Failed) and str(failing.error) == "no idea"
        assert search.ended == "all"
        assert children(client, sandbox) == 1
    assert children(client, sandbox) == 0
    assert not sandbox.files.exists("/tmp/tries")


def test_ends_at_a_good_score_and_cancels_what_runs(client: Offshoot, sandbox: Sandbox) -> None:
    branches = {"slow": sleep_long, "good": value_of, "later": value_of}
    with explore(sandbox, branches, score=lambda _, __: 1, stop_at=1, concurrency=2) as search:
        assert search.ended == "stop_at"
        assert search.best is not None and search.best.name == "good"
        assert search.branches[0] == Cancelled("slow")
        assert search.branches[2] in (Skipped("later"), Cancelled("later"))
        assert children(client, sandbox) == 1


def test_ends_at_the_limits_of_its_budget(client: Offshoot, sandbox: Sandbox) -> None:
    branches = {"first": value_of, "second": value_of}
    with explore(sandbox, branches, score=lambda _, __: 1, budget={"forks": 1}) as search:
        assert search.ended == "forks"
        assert search.branches == [Scored("first", 1, 2), Skipped("second")]
    slow = {"slow": sleep_long, "later": value_of}
    search = explore(sandbox, slow, score=lambda _, __: 1, concurrency=1, budget={"seconds": 0.01})
    assert (search.best, search.ended) == (None, "time")
    assert search.branches == [Cancelled("slow"), Skipped("later")]
    assert children(client, sandbox) == 0


def test_deletes_all_forks_if_a_score_fails(client: Offshoot, sandbox: Sandbox) -> None:
    def rate(_: int, __: object) -> float:
        raise LookupError("no score")

    with pytest.raises(LookupError, match="no score"):
        explore(sandbox, {"slow": sleep_long, "rated": value_of}, score=rate)
    assert children(client, sandbox) == 0
    with pytest.raises(ValueError, match="concurrency"):
        explore(sandbox, {}, score=lambda _, __: 1, concurrency=0)
    assert (explore(sandbox, {}, score=lambda _, __: 1)).branches == []
