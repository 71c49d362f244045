"""Isolated microVM sandboxes that fork while they run.

``Offshoot`` is the client, ``AsyncOffshoot`` the same for asyncio. :mod:`offshoot.types` has the records of the API.
"""

from . import types
from ._async.client import AsyncOffshoot, AsyncSandboxes
from ._async.commands import AsyncCommand, AsyncCommands
from ._async.exec import AsyncExecStream
from ._async.files import AsyncFiles
from ._async.lists import AsyncList
from ._async.ports import AsyncPorts
from ._async.sandbox import AsyncChildren, AsyncSandbox
from ._sync.client import Offshoot, Sandboxes
from ._sync.commands import Command, Commands
from ._sync.exec import ExecStream
from ._sync.files import Files
from ._sync.lists import List
from ._sync.ports import Ports
from ._sync.sandbox import Children, Sandbox
from .errors import (
    APIError,
    AuthenticationError,
    BadRequestError,
    CommandFailedError,
    CommandTimeoutError,
    ConfigurationError,
    ConflictError,
    ConnectionError,
    LimitError,
    MissingDataError,
    NotFoundError,
    OffshootError,
    ServerError,
    TimeoutError,
)
from .results import CommandExit, ExecResult, OutputChunk

__all__ = [
    "APIError",
    "AsyncChildren",
    "AsyncCommand",
    "AsyncCommands",
    "AsyncExecStream",
    "AsyncFiles",
    "AsyncList",
    "AsyncOffshoot",
    "AsyncPorts",
    "AsyncSandbox",
    "AsyncSandboxes",
    "AuthenticationError",
    "BadRequestError",
    "Children",
    "Command",
    "CommandExit",
    "CommandFailedError",
    "CommandTimeoutError",
    "Commands",
    "ConfigurationError",
    "ConflictError",
    "ConnectionError",
    "ExecResult",
    "ExecStream",
    "Files",
    "LimitError",
    "List",
    "MissingDataError",
    "NotFoundError",
    "Offshoot",
    "OffshootError",
    "OutputChunk",
    "Ports",
    "Sandbox",
    "Sandboxes",
    "ServerError",
    "TimeoutError",
    "types",
]
