"""Isolated microVM sandboxes that fork while they run.

``Offshoot`` is the client, ``AsyncOffshoot`` the same for asyncio. :mod:`offshoot.types` has the records of the API.
"""

from . import types
from ._async.apps import AsyncApp, AsyncAppDomains, AsyncApps, AsyncDeployment
from ._async.client import AsyncOffshoot, AsyncSandboxes
from ._async.code import AsyncCode
from ._async.commands import AsyncCommand, AsyncCommands
from ._async.databases import AsyncDatabase, AsyncDatabaseBackups, AsyncDatabases
from ._async.exec import AsyncExecStream
from ._async.explore import AsyncBest, AsyncCandidate, AsyncExploration
from ._async.files import AsyncFiles
from ._async.keys import AsyncKeys, AsyncSsh
from ._async.links import AsyncLinks
from ._async.lists import AsyncList
from ._async.ports import AsyncPorts
from ._async.sandbox import AsyncChildren, AsyncSandbox
from ._async.snapshots import AsyncSnapshots
from ._async.templates import AsyncTemplateBuild, AsyncTemplates
from ._async.terminal import AsyncTerminal
from ._async.volumes import AsyncVolume, AsyncVolumes, AsyncVolumeSnapshots
from ._async.watch import AsyncWatch
from ._async.webhooks import AsyncWebhook, AsyncWebhookDeliveries, AsyncWebhooks
from ._async.workspaces import AsyncWorkspaces
from ._explore import explore
from ._search import Budget, Cancelled, Failed, ForksLeftError, Outcome, Scored, Skipped
from ._sync.apps import App, AppDomains, Apps, Deployment
from ._sync.client import Offshoot, Sandboxes
from ._sync.code import Code
from ._sync.commands import Command, Commands
from ._sync.databases import Database, DatabaseBackups, Databases
from ._sync.exec import ExecStream
from ._sync.explore import Best, Candidate, Exploration
from ._sync.files import Files
from ._sync.keys import Keys, Ssh
from ._sync.links import Links
from ._sync.lists import List
from ._sync.ports import Ports
from ._sync.sandbox import Children, Sandbox
from ._sync.snapshots import Snapshots
from ._sync.templates import TemplateBuild, Templates
from ._sync.terminal import Terminal
from ._sync.volumes import Volume, Volumes, VolumeSnapshots
from ._sync.watch import Watch
from ._sync.webhooks import Webhook, WebhookDeliveries, Webhooks
from ._sync.workspaces import Workspaces
from .errors import (
    APIError,
    AuthenticationError,
    BadRequestError,
    BuildFailedError,
    CommandFailedError,
    CommandTimeoutError,
    ConfigurationError,
    ConflictError,
    ConnectionError,
    DeploymentFailedError,
    LimitError,
    MissingDataError,
    NotFoundError,
    OffshootError,
    ServerError,
    TimeoutError,
)
from .results import CodeFailure, CommandExit, ExecResult, Execution, FileChange, OutputChunk, QueryResult

__all__ = [
    "APIError",
    "App",
    "AppDomains",
    "Apps",
    "AsyncApp",
    "AsyncAppDomains",
    "AsyncApps",
    "AsyncBest",
    "AsyncCandidate",
    "AsyncChildren",
    "AsyncCode",
    "AsyncCommand",
    "AsyncCommands",
    "AsyncDatabase",
    "AsyncDatabaseBackups",
    "AsyncDatabases",
    "AsyncDeployment",
    "AsyncExecStream",
    "AsyncExploration",
    "AsyncFiles",
    "AsyncKeys",
    "AsyncLinks",
    "AsyncList",
    "AsyncOffshoot",
    "AsyncPorts",
    "AsyncSandbox",
    "AsyncSandboxes",
    "AsyncSnapshots",
    "AsyncSsh",
    "AsyncTemplateBuild",
    "AsyncTemplates",
    "AsyncTerminal",
    "AsyncVolume",
    "AsyncVolumeSnapshots",
    "AsyncVolumes",
    "AsyncWatch",
    "AsyncWebhook",
    "AsyncWebhookDeliveries",
    "AsyncWebhooks",
    "AsyncWorkspaces",
    "AuthenticationError",
    "BadRequestError",
    "Best",
    "Budget",
    "BuildFailedError",
    "Cancelled",
    "Candidate",
    "Children",
    "Code",
    "CodeFailure",
    "Command",
    "CommandExit",
    "CommandFailedError",
    "CommandTimeoutError",
    "Commands",
    "ConfigurationError",
    "ConflictError",
    "ConnectionError",
    "Database",
    "DatabaseBackups",
    "Databases",
    "Deployment",
    "DeploymentFailedError",
    "ExecResult",
    "ExecStream",
    "Execution",
    "Exploration",
    "Failed",
    "FileChange",
    "Files",
    "ForksLeftError",
    "Keys",
    "LimitError",
    "Links",
    "List",
    "MissingDataError",
    "NotFoundError",
    "Offshoot",
    "OffshootError",
    "Outcome",
    "OutputChunk",
    "Ports",
    "QueryResult",
    "Sandbox",
    "Sandboxes",
    "Scored",
    "ServerError",
    "Skipped",
    "Snapshots",
    "Ssh",
    "TemplateBuild",
    "Templates",
    "Terminal",
    "TimeoutError",
    "Volume",
    "VolumeSnapshots",
    "Volumes",
    "Watch",
    "Webhook",
    "WebhookDeliveries",
    "Webhooks",
    "Workspaces",
    "explore",
    "types",
]
