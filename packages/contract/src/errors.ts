/**
 * Every error the API answers on purpose: its status and its text (interface.md, "Errors"; wire.md).
 * Clients branch on the status; the text can change, except where the specification quotes it.
 */
const registry = {
  invalidJson: { status: 400, error: 'invalid json' },
  /** `error` is replaced by the sentence that names the field. */
  invalidField: { status: 400, error: 'invalid request' },
  missingBearerToken: { status: 401, error: 'unauthorized', detail: 'missing bearer token' },
  invalidApiToken: { status: 401, error: 'unauthorized', detail: 'invalid api token' },
  jwtRequired: { status: 401, error: 'unauthorized', detail: 'jwt required' },
  notFound: { status: 404, error: 'not found' },
  /** In a sandbox. */
  fileNotFound: { status: 404, error: 'no such file or directory' },
  sandboxNotFound: { status: 404, error: 'sandbox not found' },
  sandboxNotRunning: { status: 404, error: 'sandbox not found or not running' },
  methodNotAllowed: { status: 405, error: 'method not allowed' },
  sandboxStopped: { status: 409, error: 'sandbox not running (paused or hibernated) — resume/wake it first' },
  sandboxManaged: {
    status: 409,
    error: 'managed sandbox: delete it from the feature that owns it (Databases or Apps)',
  },
  notForkTreeChild: { status: 409, error: 'sandbox is not a child of a fork tree' },
  /** The same change is under way for the same resource. */
  conflict: { status: 409, error: 'conflict' },
  /** A sandbox holds 512 live commands, and 64 kept ones with 64 MiB of output. */
  tooManyCommands: { status: 429, error: 'too many commands in this sandbox' },
  bodyTooLarge: { status: 413, error: 'request body too large' },
  /** The range begins behind the end of the file; `Content-Range` says where that is. */
  rangeNotSatisfiable: { status: 416, error: 'range not satisfiable' },
  unsupportedMediaType: { status: 415, error: 'unsupported media type' },
  /** A route that only speaks WebSocket was asked without an upgrade. */
  upgradeRequired: { status: 426, error: 'upgrade required', detail: 'this route speaks WebSocket' },
  internal: { status: 500, error: 'internal error' },
  noComputeNode: { status: 502, error: 'no available compute node' },
  agentUnreachable: { status: 502, error: 'agent unreachable' },
  shuttingDown: { status: 503, error: 'shutting down' },
  /** `error` is replaced by `command timeout after <n>s`. */
  commandTimeout: { status: 504, error: 'command timeout' },
  /** The sandbox's own disk; what was to be replaced is as it was. */
  diskFull: { status: 507, error: 'no space left in the sandbox' },
  insufficientMemory: { status: 507, error: 'insufficient host memory for sandbox' },
} as const satisfies Record<string, { status: number; error: string; detail?: string }>

export type ErrorName = keyof typeof registry

/** The flat error body: `error`, perhaps `detail`, and context fields beside them; never nested. */
export interface ErrorBody {
  error: string
  detail?: string
  [context: string]: unknown
}

/** Thrown anywhere below a route; the route's error handler answers it as it stands. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly body: ErrorBody

  /** @param fields replace or join the registry's body: `detail`, `error`, or context such as `max` and `active` */
  constructor(kind: ErrorName, fields: Partial<ErrorBody> = {}, options?: ErrorOptions) {
    const { status, ...body } = registry[kind]
    const merged: ErrorBody = { ...body, ...fields }
    super(merged.error, options)
    this.status = status
    this.body = merged
  }
}
