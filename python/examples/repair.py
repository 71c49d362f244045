"""Repairs a program whose test fails: tries eight patches in eight forks and keeps the one that passes most.

python repair.py
"""

from __future__ import annotations

from functools import partial

from offshoot import Exploration, Offshoot, Sandbox, explore

PATCHES = [
    "echo $(($1 - $2))",
    "echo $1$2",
    "echo $(($1 * $2))",
    "echo $1 + $2",
    "echo $(($1 + $1))",
    "exit 1",
    "echo $(($1 + $2))",
    "sleep 600",
]
"""Patches that a model might propose for ``add.sh``, of which few are right."""

TEST = """for pair in "2 3 5" "2 2 4" "0 7 7" "-1 1 0"; do
  set -- $pair
  [ "$(sh /work/add.sh $1 $2)" = "$3" ] && echo passed
done"""


def passed_tests(fork: Sandbox, patch: str) -> int:
    fork.files.write("/work/add.sh", f"{patch}\n")
    return fork.exec("sh /work/test.sh", timeout_seconds=60).stdout.count("passed")


def repair(sandbox: Sandbox) -> Exploration[int]:
    sandbox.files.write("/work/add.sh", "echo 0\n")
    sandbox.files.write("/work/test.sh", TEST)
    branches = {patch: partial(passed_tests, patch=patch) for patch in PATCHES}
    return explore(sandbox, branches, score=lambda passed, _: passed, stop_at=4, concurrency=4)


if __name__ == "__main__":
    with Offshoot() as client, client.sandboxes.create("minimal", ttl_seconds=600) as sandbox:
        with repair(sandbox) as search:
            for branch in search.branches:
                print(branch.outcome, branch.name)
            assert search.best is not None
            print("best:", search.best.name)
            print(search.best.sandbox.exec("sh /work/add.sh 20 22", check=True).stdout, end="")
