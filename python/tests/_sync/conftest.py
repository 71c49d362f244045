# Generated from _async by tools/generate.py. Do not edit.
"""One sandbox for all tests of a folder. The server comes from OFFSHOOT_BASE_URL, OFFSHOOT_API_KEY, OFFSHOOT_TEST_JWT
and OFFSHOOT_TEST_MAIL, the directory of its mails."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from offshoot import Offshoot, Sandbox


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
def client(anyio_backend: str) -> Iterator[Offshoot]:
    with Offshoot() as client:
        yield client


@pytest.fixture(scope="package")
def user(anyio_backend: str) -> Iterator[Offshoot]:
    """A client with the token of a user."""
    with Offshoot(api_key=os.environ["OFFSHOOT_TEST_JWT"]) as user:
        yield user


@pytest.fixture
def newcomer(client: Offshoot) -> Iterator[Offshoot]:
    """A client with the token of a user who has just signed up."""
    person = {"email": f"{uuid.uuid4().hex}@example.com", "password": uuid.uuid4().hex, "name": "Ina"}
    session = (client.request("POST /api/auth/sign-up/email", body=person))["token"]
    with Offshoot(api_key=session) as signed_in:
        token = (signed_in.request("GET /api/auth/token"))["token"]
    with Offshoot(api_key=token) as newcomer:
        yield newcomer


@pytest.fixture(scope="package")
def sandbox(client: Offshoot) -> Iterator[Sandbox]:
    with client.sandboxes.create("minimal", metadata={"purpose": uuid.uuid4().hex}, ttl_seconds=900) as sandbox:
        yield sandbox
    with pytest.raises(Exception, match="404"):
        sandbox.refresh()
