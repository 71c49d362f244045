"""The programs in examples/, and those in the documentation."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
PAGES = (PROJECT / "README.md", PROJECT.parent / "docs/sdk-python.md")
NEEDS = {"code": "code-interpreter", "databases": "client.databases"}
"""What a server needs further templates for."""


def blocks() -> Iterator[object]:
    for page in PAGES:
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S)):
            need = next((name for name, word in NEEDS.items() if word in block), "any")
            yield pytest.param(block, id=f"{page.stem}-{number}-{need}")
    for program in sorted((PROJECT.parent / "docs/examples").glob("*.py")):
        text = program.read_text()
        need = next((name for name, word in NEEDS.items() if word in text), "any")
        yield pytest.param(text, id=f"{program.stem}-{need}")


@pytest.mark.parametrize("block", list(blocks()))
def test_runs_as_documented(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    running = eval(compile(block, "documentation", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {})
    if inspect.iscoroutine(running):
        asyncio.run(running)
    shown = capsys.readouterr().out
    for comment in re.findall(r"print\(.*\)  # (.*)$", block, re.M):
        assert comment in shown


def test_repairs_a_failing_test_in_eight_forks(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(PROJECT / "examples/repair.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-2:] == ["best: echo $(($1 + $2))", "42"]
