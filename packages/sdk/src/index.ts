export { Offshoot } from './client.ts'
export {
  type App,
  type AppDomains,
  type AppInfo,
  type Apps,
  type ChangeAppOptions,
  type CreateAppOptions,
} from './resources/apps.ts'
export type { ChangesOptions } from './resources/changes.ts'
export {
  type BranchDatabaseOptions,
  type ChangeDatabaseOptions,
  type CreateDatabaseOptions,
  type Database,
  type DatabaseBackups,
  type DatabaseInfo,
  type Databases,
  type QueryDatabaseOptions,
  type QueryResult,
  type RestoreDatabaseOptions,
  type Statement,
} from './resources/databases.ts'
export { type Deployment, DeploymentFailedError, type DeploymentInfo } from './resources/deployment.ts'
export type { WorkspaceEventsOptions } from './resources/events.ts'
export type { CreatedKey, CreateKeyOptions, Key, Keys, Ssh } from './resources/keys.ts'
export type { Snapshots } from './resources/snapshots.ts'
export type { BuildTemplateOptions, Templates } from './resources/templates.ts'
export type { CreateVolumeOptions, Volume, VolumeInfo, Volumes, VolumeSnapshots } from './resources/volumes.ts'
export type { CreateWebhookOptions, Webhook, WebhookDeliveries, WebhookInfo, Webhooks } from './resources/webhooks.ts'
export type { WorkspaceInfo, Workspaces } from './resources/workspaces.ts'
export type { Links } from './sandboxes/links.ts'
export { BuildFailedError, type TemplateBuild } from './sandboxes/template-build.ts'
export {
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  type ErrorBody,
  LimitError,
  MissingDataError,
  NotFoundError,
  OffshootError,
  ServerError,
  TimeoutError,
} from './http/errors.ts'
export type { FollowOptions } from './http/follow.ts'
export type { List } from './http/list.ts'
export { type ServerEvent, serverEvents } from './http/server-events.ts'
export type { Route, RouteAnswer, RouteArguments, RouteEvent, RouteInput, StreamedEvent } from './http/routes.ts'
export type { CallOptions, ClientOptions, WebSocketConstructor } from './http/transport.ts'
export type { Code, CodeFailure, CodeLanguage, Execution, RunCodeOptions } from './sandboxes/code.ts'
export type { Command, Commands, OffsetChunk, OutputOptions, StartOptions, TerminalSize } from './sandboxes/commands.ts'
export {
  CommandFailedError,
  type CommandLine,
  type CommandOptions,
  CommandTimeoutError,
  type Exec,
  type ExecOptions,
  type ExecResult,
  type ExecStream,
  type ExecStreamOptions,
} from './sandboxes/exec.ts'
export type { FileChange, FileContent, FileOptions, Files } from './sandboxes/files.ts'
export type { CommandExit, OutputChunk, OutputEncoding } from './sandboxes/output.ts'
export type { Ports } from './sandboxes/ports.ts'
export type { EventsOptions, GapOptions, LogsOptions, MetricsOptions, NumberedEvent } from './sandboxes/records.ts'
export {
  type Children,
  type CreateSandboxOptions,
  type ForkOptions,
  type LifecycleOptions,
  Sandbox,
  type SandboxFilter,
  type SandboxInfo,
  type Sandboxes,
} from './sandboxes/sandbox.ts'
export type { Terminal, TerminalOptions } from './sandboxes/terminal.ts'
export type {
  AccessToken,
  AppDomain,
  BackgroundExec,
  Build,
  BuildLogLine,
  Change,
  CodeContext,
  CodeResult,
  CreatedPreviewLink,
  DatabaseBackup,
  DatabaseConnection,
  DatabaseStats,
  DatabaseSummary,
  Event,
  FileEntry,
  Invitation,
  Lifecycle,
  Lineage,
  LogLine,
  Me,
  Member,
  Port,
  PreviewLink,
  Promotion,
  SandboxMetrics,
  Snapshot,
  SshCertificate,
  SshGateway,
  SshKey,
  Template,
  Usage,
  VolumeSnapshot,
  WebhookDelivery,
  WebhookDeliveryDetails,
  WorkspaceEvent,
  WorkspaceSummary,
} from './generated/models.ts'
export { type Branch, type Exploration, explore, type ExploreOptions, type Outcome } from './explore.ts'
