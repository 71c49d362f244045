export { Offshoot } from './client.ts'
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
export type { EventsOptions, LogsOptions, MetricsOptions, NumberedEvent } from './sandboxes/records.ts'
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
  BackgroundExec,
  Build,
  CodeContext,
  CodeResult,
  Event,
  FileEntry,
  Lifecycle,
  LogLine,
  Port,
  Promotion,
  SandboxMetrics,
  Snapshot,
} from './generated/models.ts'
export { type Branch, type Exploration, explore, type ExploreOptions, type Outcome } from './explore.ts'
