"""Writes the generated files of the package from an OpenAPI document on standard input:

    node bin/lib/openapi-document.mjs | python python/tools/generate.py python

- ``src/offshoot/types.py``: the records of the API.
- ``src/offshoot/_sync/``: the synchronous client, from ``_async/``. ``_platform.py`` is written by hand.
- ``tests/_sync/``: its tests, from ``tests/_async/``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import unasync  # type: ignore[import-untyped]

PROJECT = Path(__file__).resolve().parent.parent
BY_HAND = {"_platform.py", "__init__.py"}
TYPES = """--input-file-type openapi --output-model-type typing.TypedDict --target-python-version 3.10
    --use-schema-description --use-field-description --enum-field-as-literal all --use-standard-collections
    --use-union-operator --formatters black isort --disable-timestamp --openapi-scopes schemas""".split()


HEADER = "# Generated from _async by tools/generate.py. Do not edit.\n"


def make_types(target: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        document = Path(name, "openapi.json")
        document.write_bytes(sys.stdin.buffer.read())
        command = [sys.executable, "-W", "ignore", "-m", "datamodel_code_generator", "--input", str(document)]
        subprocess.run([*command, *TYPES, "--output", str(target)], check=True)


def make_sync(source: Path, target: Path) -> None:
    """unasync looks for ``_async`` in the path, and writes beside what it reads."""
    target.mkdir(parents=True, exist_ok=True)
    names = [path.name for path in sorted(source.glob("*.py")) if path.name not in BY_HAND]
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(source, Path(work, "_async"), ignore=shutil.ignore_patterns("__pycache__"))
        for name in names:
            source_file = Path(work, "_async", name)
            # Also those in docstrings, which unasync leaves alone.
            source_file.write_text(re.sub(r"\bAsync(?=[A-Z])", "", source_file.read_text()))
        rule = unasync.Rule("/_async/", "/_sync/")
        unasync.unasync_files([str(Path(work, "_async", name)) for name in names], [rule])
        for name in names:
            (target / name).write_text(HEADER + Path(work, "_sync", name).read_text())
    ruff = [sys.executable, "-m", "ruff"]
    options = ["--quiet", "--config", str(PROJECT / "pyproject.toml"), *(str(target / name) for name in names)]
    subprocess.run([*ruff, "check", "--select", "I", "--fix", *options], check=True)
    subprocess.run([*ruff, "format", *options], check=True)


def main(folder: Path) -> None:
    package = folder / "src/offshoot"
    make_sync(PROJECT / "src/offshoot/_async", package / "_sync")
    make_sync(PROJECT / "tests/_async", folder / "tests/_sync")
    make_types(package / "types.py")


main(Path(sys.argv[1]))
