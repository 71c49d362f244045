"""The code interpreter, against a real server with the template ``code-interpreter``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from offshoot import (
    AsyncOffshoot,
    AsyncSandbox,
    CommandTimeoutError,
    ConflictError,
    NotFoundError,
    OutputChunk,
)
from offshoot.types import CodeResult

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def interpreter(client: AsyncOffshoot) -> AsyncIterator[AsyncSandbox]:
    async with await client.sandboxes.create("code-interpreter", ttl_seconds=900) as sandbox:
        yield sandbox


async def test_runs_code_and_keeps_its_state(interpreter: AsyncSandbox, sandbox: AsyncSandbox) -> None:
    chunks: list[OutputChunk[str]] = []
    results: list[CodeResult] = []
    code = "import os\nx = 6\nprint(os.environ['A'])\nx * 7"
    first = await interpreter.code.run(code, env={"A": "b"}, on_output=chunks.append, on_result=results.append)
    assert (first.text, first.stdout, first.stderr, first.error) == ("42", "b\n", "", None)
    assert (chunks, results) == ([OutputChunk("stdout", "b\n")], list(first.results))
    second = await interpreter.code.run("x / 0")
    assert second.error is not None and second.error.name == "ZeroDivisionError"
    assert second.execution_count == first.execution_count + 1
    with pytest.raises(CommandTimeoutError) as late:
        await interpreter.code.run("print('begun')\nwhile True: pass", timeout_seconds=1)
    assert late.value.stdout == "begun\n"

    def stop(_: object) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        await interpreter.code.run("print('begun')\nwhile True: pass", on_output=stop)
    # Leaving the call has interrupted the loop.
    assert (await interpreter.code.run("x")).text == "6"
    with pytest.raises(ConflictError):
        await sandbox.code.run("1")


async def test_makes_contexts(interpreter: AsyncSandbox) -> None:
    code = interpreter.code
    context = await code.create_context(language="python", cwd="/tmp")
    assert (await code.run("import os\ny = 1\nos.getcwd()", context=context)).text == "/tmp"
    assert context["id"] in [each["id"] for each in await code.contexts()]
    assert (await code.interrupt(context))["id"] == context["id"]
    await code.restart(context["id"])
    assert (await code.run("y", context=context)).error is not None
    await code.delete_context(context)
    with pytest.raises(NotFoundError):
        await code.run("1", context=context)
    assert (await code.run("echo $((6 * 7))", language="bash")).stdout == "42\n"
