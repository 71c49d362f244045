"""The errors that the SDK raises.

Each error of the server has the HTTP status, the request id and the body. Branch on the class or on ``status``; the
texts can change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import ExecResult
    from .types import Build, DeploymentWithLogs


class OffshootError(Exception):
    """Base class of every error that the SDK raises by itself."""


class ConfigurationError(OffshootError):
    """The client has no API key, or an option has an impossible value."""


class ConnectionError(OffshootError):  # noqa: A001 - people look for it under this name
    """The server could not be reached, or the connection broke, or the answer did not come in time.

    The request may have been carried out. The SDK has already repeated it where that is safe.
    """


class TimeoutError(ConnectionError):  # noqa: A001 - people look for it under this name
    """The answer, or what the caller waited for, did not come in time."""


class APIError(OffshootError):
    """The server refused a request."""

    def __init__(self, status: int, body: object, *, request_id: str | None, method: str, path: str) -> None:
        self.status = status
        """HTTP status."""
        self.body: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
        """The JSON object of the answer; empty if the answer was none."""
        self.request_id = request_id
        """Give this to the operator of the service: the logs have it."""
        self.method = method
        self.path = path
        self.error = str(self.body.get("error", body if isinstance(body, str) and body else "no reason given"))
        """The reason, for people."""
        detail = self.body.get("detail")
        self.detail = detail if isinstance(detail, str) else None
        reason = self.error if self.detail is None else f"{self.error} ({self.detail})"
        super().__init__(f"{status} {reason} [{method} {path}, request {request_id or 'without id'}]")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.status, dict(self.body), self.request_id, self.method, self.path))


class AuthenticationError(APIError):
    """401 or 403: no credential, a wrong one, or one that may not do this."""


class NotFoundError(APIError):
    """404: the object does not exist, or belongs to another workspace."""


class BadRequestError(APIError):
    """Any other 4xx."""


class ConflictError(BadRequestError):
    """409: the object is in a state that does not allow this."""


class LimitError(BadRequestError):
    """429: too many requests, or a limit of the workspace is reached."""


class ServerError(APIError):
    """5xx."""


class CommandFailedError(OffshootError):
    """A command ended with another status than 0, and the caller asked for ``check``."""

    def __init__(self, command: str, result: ExecResult) -> None:
        last = (result.stderr or result.stdout).strip().splitlines()[-1:]
        reason = f": {last[0][:500]}" if last else ""
        super().__init__(f"exit code {result.exit_code} of {command[:200]!r}{reason}")
        self.result = result


class CommandTimeoutError(OffshootError):
    """A command ran longer than ``timeout_seconds``. The server has killed it with its process group."""

    def __init__(self, message: str, *, stdout: str, stderr: str) -> None:
        super().__init__(message)
        self.stdout = stdout
        """Output until then."""
        self.stderr = stderr


class BuildFailedError(OffshootError):
    """A build of a template has failed."""

    def __init__(self, build: Build) -> None:
        super().__init__(f"the build of the template {build['name']!r} has failed: {build['error']}")
        self.build = build


class DeploymentFailedError(OffshootError):
    """A deploy has failed, or a newer one has taken its place."""

    def __init__(self, deployment: DeploymentWithLogs) -> None:
        reason = deployment["error"] or f"its status is {deployment['status']}"
        super().__init__(f"the deploy {deployment['id']} is not live: {reason}")
        self.deployment = deployment
        """With the whole log in ``build_logs``."""


class MissingDataError(OffshootError):
    """The server no longer has the bytes ``start`` to ``end`` of an output."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(f"the bytes {start} to {end} of the output are lost")
        self.start = start
        self.end = end


def error_of(status: int, content: bytes, *, request_id: str | None, method: str, path: str) -> APIError:
    """The error for an answer of the server."""
    text = content.decode("utf-8", "replace")
    try:
        body: object = json.loads(text)
    except ValueError:
        body = text[:1000]
    return _class_of(status)(status, body, request_id=request_id, method=method, path=path)


def _class_of(status: int) -> type[APIError]:
    if status in (401, 403):
        return AuthenticationError
    if status >= 500:
        return ServerError
    return {404: NotFoundError, 409: ConflictError, 429: LimitError}.get(status, BadRequestError)


def _rebuild(
    kind: type[APIError], status: int, body: object, request_id: str | None, method: str, path: str
) -> APIError:
    return kind(status, body, request_id=request_id, method=method, path=path)
