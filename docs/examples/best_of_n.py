"""An agent's loop: each round tries several next steps in forks of the same state, and continues from the best one."""

from functools import partial

from offshoot import Offshoot, Sandbox, explore

# What a model would propose, one list for each round. Replace it by a call of your model.
PROPOSALS = [
    ["echo 1 >> /work/numbers", "echo 5 >> /work/numbers", "rm -f /work/numbers"],
    ["echo 2 >> /work/numbers", "cp /work/numbers /work/n; cat /work/n >> /work/numbers", "exit 1"],
]

# How good a state is: here the sum of the numbers in a file. For code it could be the number of tests that pass.
SCORE = 'awk "{ sum += \\$1 } END { print sum + 0 }" /work/numbers'


def attempt(sandbox: Sandbox, command: str) -> int:
    sandbox.exec(command, check=True, timeout_seconds=60)
    return int(sandbox.exec(SCORE, check=True).stdout)


with Offshoot() as client:
    current = client.sandboxes.create("minimal", ttl_seconds=600)
    try:
        current.exec("mkdir /work && echo 1 > /work/numbers", check=True)
        for proposals in PROPOSALS:
            branches = {command: partial(attempt, command=command) for command in proposals}
            search = explore(current, branches, score=lambda total, _: total, concurrency=3)
            for branch in search.branches:
                print(branch.outcome, branch.name)
            if search.best is None:
                raise SystemExit("every attempt failed")
            print("best:", search.best.name)
            current.delete()
            current = search.best.sandbox
        print("sum:", current.exec(SCORE).stdout.strip())
    finally:
        current.delete()
