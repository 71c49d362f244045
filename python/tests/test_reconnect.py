"""Streams of a real server whose connections break."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from offshoot import ConnectionError, FileChange, Offshoot, Sandbox


class Proxy:
    """Passes bytes on between the client and the server, until it is told to cut its connections."""

    def __init__(self) -> None:
        url = urlsplit(os.environ["OFFSHOOT_BASE_URL"])
        self._server = (url.hostname or "", url.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            self._open |= {client, server}
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self) -> None:
        for each in self._open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It has ended by itself.
            each.close()
        self._open = set()

    def close(self) -> None:
        self._listener.close()
        self.cut()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.close()


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Offshoot]:
    with Offshoot(base_url=proxy.base_url) as client:
        yield client


@pytest.fixture
def sandbox(client: Offshoot) -> Iterator[Sandbox]:
    with client.sandboxes.create("minimal", ttl_seconds=600) as sandbox:
        yield sandbox


def test_continues_events_logs_and_output(client: Offshoot, sandbox: Sandbox, proxy: Proxy) -> None:
    followed = client.events(object=sandbox.id, type=["sandbox.paused", "sandbox.resumed"])
    numbered = sandbox.events(tail=1)
    number, _ = next(numbered)
    command = sandbox.commands.start('while read line; do echo "got $line"; done', stdin_open=True)
    command.write("one\n")
    output = command.output()
    assert next(output).data == "got one\n"
    logs = sandbox.follow_logs(tail=1)
    assert next(logs)["line"] == "got one"
    for state in ("paused", "resumed"):
        proxy.cut()
        sandbox.pause() if state == "paused" else sandbox.resume()
        number += 1
        assert next(followed)["type"] == f"sandbox.{state}"
        seen, event = next(numbered)
        assert (seen, event["type"]) == (number, f"sandbox.{state}")
    proxy.cut()
    command.write("two\n")
    assert next(output).data == "got two\n"
    assert next(logs)["line"] == "got two"


def test_says_which_changes_and_commands_are_lost(sandbox: Sandbox, proxy: Proxy) -> None:
    with sandbox.files.watch("/tmp") as changes:
        seen = iter(changes)
        sandbox.exec("touch /tmp/a")
        assert next(seen) == FileChange("created", "/tmp/a")
        proxy.cut()
        assert next(seen) == FileChange("overflow")
        sandbox.exec("touch /tmp/b")
        assert next(seen) == FileChange("created", "/tmp/b")
    with pytest.raises(ConnectionError):
        sandbox.exec("echo begun; sleep 7777", on_output=lambda _: proxy.cut())
    sandbox.exec("while ps | grep '[s]leep 7777'; do sleep 0.1; done", timeout_seconds=60, check=True)
    with sandbox.terminal("echo begun; sleep 7778") as terminal:
        shown = iter(terminal)
        next(shown)
        proxy.cut()
        with pytest.raises(ConnectionError):
            next(shown)
            next(shown)
