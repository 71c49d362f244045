"""What a Deep Agent of LangChain does with E2B's sandboxes. It prints each step that went well."""

import asyncio

from e2b import AsyncSandbox, Sandbox
from langchain_e2b import AsyncE2BSandbox, E2BSandbox


def passed(name: str) -> None:
    print(f"passed: {name}")


def check(actual, expected) -> None:
    assert actual == expected, f"{actual!r} is not {expected!r}"


def commands(backend: E2BSandbox) -> None:
    result = backend.execute("echo hello; pwd; echo err >&2")
    check((result.output, result.exit_code), ("hello\n/home/user\n\nerr\n", 0))
    check(backend.execute("exit 3").exit_code, 3)
    check(backend.execute("sleep 60", timeout=1).exit_code, 124)
    passed("commands")


def files(backend: E2BSandbox) -> None:
    path = "/home/user/src/a.py"
    check(backend.write(path, "x = 1\ny = 2\n").path, path)
    assert "exist" in backend.write(path, "again").error
    check(backend.read(path, offset=1).file_data["content"].strip(), "y = 2")
    check(backend.edit(path, "x = 1", "x = 'é'").occurrences, 1)
    long = "z" * 200_000
    check(backend.edit(path, "y = 2", long).occurrences, 1)
    check([entry["path"] for entry in backend.ls("/home/user/src").entries], [path])
    check([match["line"] for match in backend.grep("x = ", "/home/user/src").matches], [1])
    check(len(backend.glob("**/*.py", "/home/user").matches), 1)
    uploads = backend.upload_files([("/home/user/up/b", b"\x00\xff"), ("no", b""), ("/home/user/src", b"")])
    check([upload.error for upload in uploads], [None, "invalid_path", "is_directory"])
    downloads = backend.download_files(["/home/user/up/b", path, "/home/user/none", "/home/user/src"])
    check([each.error for each in downloads], [None, None, "file_not_found", "is_directory"])
    check(downloads[0].content, b"\x00\xff")
    check(downloads[1].content.decode(), f"x = 'é'\n{long}\n")
    passed("files")


async def asynchronously(sandbox_id: str) -> None:
    sandbox = await AsyncSandbox.connect(sandbox_id)
    backend = AsyncE2BSandbox(sandbox=sandbox)
    check((await backend.aexecute("echo $((1 + 1))")).output, "2\n")
    check((await backend.awrite("/home/user/c.md", "one\n")).error, None)
    check((await backend.aread("/home/user/c.md")).file_data["content"].strip(), "one")
    check((await backend.aedit("/home/user/c.md", "one", "two")).occurrences, 1)
    assert "/home/user/c.md" in [entry["path"] for entry in (await backend.als("/home/user")).entries]
    check(len((await backend.agrep("two", "/home/user", "*.md")).matches), 1)
    [download] = await backend.adownload_files(["/home/user/c.md"])
    check(download.content, b"two\n")
    check(await sandbox.kill(), True)
    passed("asynchronous calls")


sandbox = Sandbox.create(timeout=300)
backend = E2BSandbox(sandbox=sandbox)
check(backend.id, sandbox.sandbox_id)
commands(backend)
files(backend)
asyncio.run(asynchronously(backend.id))
check(sandbox.is_running(), False)
passed("the end")
