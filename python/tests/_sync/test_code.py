# Generated from _async by tools/generate.py. Do not edit.
"""The code interpreter, against a real server with the template ``code-interpreter``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from offshoot import (
    CommandTimeoutError,
    ConflictError,
    NotFoundError,
    Offshoot,
    OutputChunk,
    Sandbox,
)
from offshoot.types import CodeResult

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def interpreter(client: Offshoot) -> Iterator[Sandbox]:
    with client.sandboxes.create("code-interpreter", ttl_seconds=900) as sandbox:
        yield sandbox


def test_runs_code_and_keeps_its_state(interpreter: Sandbox, sandbox: Sandbox) -> None:
    chunks: list[OutputChunk[str]] = []
    results: list[CodeResult] = []
    code = "import os\nx = 6\nprint(os.environ['A'])\nx * 7"
    first = interpreter.code.run(code, env={"A": "b"}, on_output=chunks.append, on_result=results.append)
    assert (first.text, first.stdout, first.stderr, first.error) == ("42", "b\n", "", None)
    assert (chunks, results) == ([OutputChunk("stdout", "b\n")], list(first.results))
    second = interpreter.code.run("x / 0")
    assert second.error is not None and second.error.name == "ZeroDivisionError"
    assert second.execution_count == first.execution_count + 1
    with pytest.raises(CommandTimeoutError) as late:
        interpreter.code.run("print('begun')\nwhile True: pass", timeout_seconds=1)
    assert late.value.stdout == "begun\n"

    def stop(_: object) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        interpreter.code.run("print('begun')\nwhile True: pass", on_output=stop)
    # Leaving the call has interrupted the loop.
    assert (interpreter.code.run("x")).text == "6"
    with pytest.raises(ConflictError):
        sandbox.code.run("1")


def test_makes_contexts(interpreter: Sandbox) -> None:
    code = interpreter.code
    context = code.create_context(language="python", cwd="/tmp")
    assert (code.run("import os\ny = 1\nos.getcwd()", context=context)).text == "/tmp"
    assert context["id"] in [each["id"] for each in code.contexts()]
    assert (code.interrupt(context))["id"] == context["id"]
    code.restart(context["id"])
    assert (code.run("y", context=context)).error is not None
    code.delete_context(context)
    with pytest.raises(NotFoundError):
        code.run("1", context=context)
    assert (code.run("echo $((6 * 7))", language="bash")).stdout == "42\n"
