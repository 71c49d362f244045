"""Options of a client, with their defaults from the environment."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

from .errors import ConfigurationError

DEFAULT_BASE_URL = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT_SECONDS = 120.0
"""Longer than any step of the server that answers at its end: a database takes up to 90 s to be created."""
DEFAULT_MAX_RETRIES = 4
SILENCE_SECONDS = 60.0
"""The server sends something on every stream each 15 s. A longer silence is a broken connection."""


def _package_version() -> str:
    try:
        return version("offshoot")
    except PackageNotFoundError:
        return "0"


USER_AGENT = f"offshoot-python/{_package_version()} python/{platform.python_version()}"


@dataclass(frozen=True)
class Config:
    base_url: str
    """Without a slash at the end."""
    api_key: str
    timeout: float
    max_retries: int
    org: str | None

    def __repr__(self) -> str:
        return f"Config({self.base_url!r})"

    @property
    def headers(self) -> dict[str, str]:
        own = {"authorization": f"Bearer {self.api_key}", "user-agent": USER_AGENT}
        return own if self.org is None else {**own, "x-offshoot-org": self.org}


def make_config(
    base_url: str | None, api_key: str | None, timeout: float | None, max_retries: int | None, org: str | None
) -> Config:
    """
    :raises ConfigurationError: there is no key, or an option has an impossible value
    """
    url = (base_url or os.environ.get("OFFSHOOT_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise ConfigurationError(f"base_url must begin with http:// or https://, not {url!r}")
    key = api_key or os.environ.get("OFFSHOOT_API_KEY")
    if not key:
        raise ConfigurationError("no API key: pass api_key=… or set OFFSHOOT_API_KEY")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError("the API key has characters that no key has")
    seconds = DEFAULT_TIMEOUT_SECONDS if timeout is None else timeout
    retries = DEFAULT_MAX_RETRIES if max_retries is None else max_retries
    if seconds <= 0:
        raise ConfigurationError("timeout must be more than 0 seconds")
    if retries < 0:
        raise ConfigurationError("max_retries must not be negative")
    return Config(url, key, seconds, retries, org)
