"""Forks Python kernels from a process that has imported the usual libraries.

An import of pandas and Matplotlib takes seconds under emulation; a fork takes milliseconds, and all kernels share the
memory of the libraries. The server sends {"id", "cwd", "env"} with three file descriptors (both outputs and the
control socket) as one packet on descriptor 3. The zygote answers {"id", "pid"}, and later {"exited", "status"}. This
process never has threads: a fork would lose them.
"""

import io
import json
import os
import selectors
import signal
import socket
import sys

# Kernels, not the server, are what the system ends when memory runs out.
OOM_SCORE = b"500"
MAX_PACKET = 1024 * 1024


def warm_up():
    """Imports libraries and draws once, so that their caches and pages are in the snapshot."""
    import base64  # noqa: F401
    import random  # noqa: F401
    import ssl  # noqa: F401

    import matplotlib.pyplot as pyplot
    import numpy
    import pandas

    import python_kernel

    shell = python_kernel.make_shell()
    figure = pyplot.figure()
    pyplot.plot(numpy.arange(3))
    pyplot.title("warm")
    shell.display_formatter.format(figure)
    pyplot.close("all")
    shell.display_formatter.format(pandas.DataFrame({"a": [1.5]}))
    return shell


def become_kernel(shell, request, fds):
    """In the child. Does not return."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    stdin = os.open(os.devnull, os.O_RDONLY)
    # High numbers first, so that no dup2 closes a descriptor that is still needed.
    high = [os.dup2(fd, 100 + index) for index, fd in enumerate([stdin, *fds])]
    for index, fd in enumerate(high):
        os.dup2(fd, index, inheritable=index < 3)
    os.closerange(4, 200)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")
    for index, name in ((1, "stdout"), (2, "stderr")):
        raw = io.FileIO(index, "w", closefd=False)
        stream = io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    with open("/proc/self/oom_score_adj", "wb") as file:
        file.write(OOM_SCORE)
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.path[:] = ["", *(path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__)))]
    import python_kernel

    try:
        python_kernel.serve(shell)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


def reap(server, children):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid in children:
            children.discard(pid)
            server.send(json.dumps({"exited": pid, "status": os.waitstatus_to_exitcode(status)}).encode())


def main():
    server = socket.socket(fileno=3)
    # Ctrl-C is for kernels.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    shell = warm_up()
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    selector = selectors.DefaultSelector()
    selector.register(server, selectors.EVENT_READ)
    selector.register(wake_read, selectors.EVENT_READ)
    children = set()
    server.send(b'{"ready": true}')
    while True:
        for key, _ in selector.select():
            if key.fd == wake_read:
                os.read(wake_read, 4096)
                reap(server, children)
                continue
            packet, fds, _, _ = socket.recv_fds(server, MAX_PACKET, 3)
            if not packet:
                for pid in children:
                    os.killpg(pid, signal.SIGKILL)
                os._exit(0)
            request = json.loads(packet)
            pid = os.fork()
            if pid == 0:
                become_kernel(shell, request, fds)
            children.add(pid)
            for fd in fds:
                os.close(fd)
            server.send(json.dumps({"id": request["id"], "pid": pid}).encode())


if __name__ == "__main__":
    main()
