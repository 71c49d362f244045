"""What users do with E2B's Python clients. Arguments: "e2b" or "code". It prints each part that went well."""

import sys
import time


def passed(name: str) -> None:
    print(f"passed: {name}")


def check(actual, expected) -> None:
    assert actual == expected, f"{actual!r} is not {expected!r}"


def until(condition) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "not within 30 s"
        time.sleep(0.05)


def e2b() -> None:
    from e2b import CommandExitException, NotFoundException, Sandbox, SandboxQuery, SandboxState

    sandbox = Sandbox.create(timeout=300, metadata={"a&b": "c d"}, envs={"FOO": "bar"})
    info = sandbox.get_info()
    check((info.sandbox_id, info.metadata, info.state), (sandbox.sandbox_id, {"a&b": "c d"}, SandboxState.RUNNING))
    passed("a sandbox is described")

    result = sandbox.commands.run("echo hi $FOO; pwd; whoami; echo err >&2")
    check((result.stdout, result.stderr, result.exit_code), ("hi bar\n/home/user\nuser\n", "err\n", 0))
    try:
        sandbox.commands.run("exit 3")
        raise AssertionError("it did not fail")
    except CommandExitException as error:
        check(error.exit_code, 3)
    command = sandbox.commands.run("cat", background=True, stdin=True)
    assert any(each.pid == command.pid for each in sandbox.commands.list())
    sandbox.commands.send_stdin(command.pid, "abc\n")
    check(command.kill(), True)
    passed("commands")

    check(sandbox.files.write("dir/a.txt", "hello").path, "/home/user/dir/a.txt")
    check(sandbox.files.read("dir/a.txt"), "hello")
    check(bytes(sandbox.files.read("dir/a.txt", format="bytes")), b"hello")
    check([entry.name for entry in sandbox.files.list("dir")], ["a.txt"])
    check(sandbox.files.get_info("dir/a.txt").owner, "user")
    check((sandbox.files.make_dir("x"), sandbox.files.make_dir("x")), (True, False))
    watch = sandbox.files.watch_dir("x")
    sandbox.files.write("x/f", "1")
    seen = []
    until(lambda: seen.extend(watch.get_new_events()) or any(event.name == "f" for event in seen))
    assert [event.type.value for event in seen if event.name == "f"] == ["create", "chmod", "write"], seen
    sandbox.files.write("x/f", "changed")
    assert "write" in [event.type.value for event in watch.get_new_events()]
    watch.stop()
    sandbox.files.remove("dir")
    try:
        sandbox.files.read("dir/a.txt")
        raise AssertionError("it did not fail")
    except NotFoundException:
        pass
    passed("files")

    listed = Sandbox.list(query=SandboxQuery(metadata={"a&b": "c d"})).next_items()
    check([each.sandbox_id for each in listed], [sandbox.sandbox_id])
    sandbox.pause()
    check(sandbox.is_running(), False)
    check(Sandbox.connect(sandbox.sandbox_id, timeout=300).is_running(), True)
    passed("lists, pause and connect")

    check((sandbox.kill(), sandbox.kill(), sandbox.is_running()), (True, False, False))
    passed("the end")


def code() -> None:
    from e2b_code_interpreter import Sandbox

    sandbox = Sandbox.create(timeout=600)
    run = lambda text, **options: sandbox.run_code(text, timeout=120, request_timeout=120, **options)  # noqa: E731
    check(run("x = 20").error, None)
    execution = run('print("out")\nx + 1')
    check((execution.text, "".join(execution.logs.stdout)), ("21", "out\n"))
    check(run("1 / 0").error.name, "ZeroDivisionError")
    charts = run("import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.show()").results
    assert charts[0].png is not None
    context = sandbox.create_code_context(cwd="/tmp")
    check(run("import os; os.getcwd()", context=context).text, "/tmp")
    sandbox.remove_code_context(context)
    check(sandbox.kill(), True)
    passed("the end")


{"e2b": e2b, "code": code}[sys.argv[1]]()
