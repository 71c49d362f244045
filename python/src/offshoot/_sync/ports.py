# Generated from _async by tools/generate.py. Do not edit.
"""TCP ports of a sandbox."""

from __future__ import annotations

import time

from .._values import given
from ..errors import TimeoutError
from ..types import Port
from . import _platform
from .links import Links
from .scope import Scope

LOOK_SECONDS = 0.25
"""Between two looks at a port."""


class Ports:
    """The TCP ports of a sandbox, each with an address for browsers."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def list(self) -> list[Port]:
        """The ports that have a label, and those on which something listens."""
        ports: list[Port] = self._scope.get("/ports")
        return ports

    def url(self, port: int) -> str:
        """The address of a port, whether something listens on it or not. Adds the port if it is not listed."""
        for each in self.list():
            if each["port"] == port:
                return each["url"]
        return (self.add(port))["url"]

    def add(self, port: int, *, label: str | None = None) -> Port:
        """Lists a port, with a label for people."""
        added: Port = self._scope.post("/ports", given({"port": port, "label": label}), idempotent=True)
        return added

    def links(self, port: int) -> Links:
        """The links that open the port while the sandbox's ``visibility`` is ``private``."""
        return Links(self._scope.below("ports", str(port)))

    def remove(self, port: int) -> None:
        """Removes the label of a port. What listens on it stays."""
        self._scope.delete(f"/ports/{port:d}")

    def wait(self, port: int, *, timeout: float = 60.0) -> Port:
        """Waits until something listens on a port.

        :raises TimeoutError: nothing listens after ``timeout`` seconds
        """
        end = time.monotonic() + timeout
        while True:
            for each in self.list():
                if each["port"] == port and each["listening"]:
                    return each
            if time.monotonic() > end:
                raise TimeoutError(f"nothing listens on port {port} after {timeout} seconds")
            _platform.sleep(LOOK_SECONDS)
