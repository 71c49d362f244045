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
  /** Of a webhook. */
  invalidSignature: { status: 401, error: 'unauthorized', detail: 'invalid signature' },
  jwtRequired: { status: 401, error: 'unauthorized', detail: 'jwt required' },
  /** `detail` says whom to contact. */
  accountSuspended: { status: 403, error: 'account suspended' },
  /** It is every workspace's. */
  templateGlobal: { status: 403, error: 'global templates cannot be changed' },
  /** The caller's role in the workspace does not allow it; `detail` names those that do. */
  roleMissing: { status: 403, error: 'forbidden' },
  /** The key was made with scopes, and this one is not among them; `detail` names it. */
  scopeMissing: { status: 403, error: 'insufficient scope' },
  /** The invitation was sent to another address than the caller's. */
  invitationOfAnother: { status: 403, error: 'invitation is for another e-mail address' },
  /** The workspace's free credit is spent; `detail` says what that means. */
  freeQuotaExceeded: {
    status: 402,
    error: 'free quota exceeded',
    detail:
      'the free credit of this month is spent: running sandboxes are paused and nothing is deleted; upgrade the plan, or wait for the first of the month (UTC)',
  },
  /** The same, from the compute node itself. */
  creditExhausted: { status: 402, error: 'monthly free credit exhausted', fields: ['credit_usd', 'cost_usd_used'] },
  subscriptionNotActive: { status: 402, error: 'subscription not active', fields: ['subscription_status'] },
  /** `error` is replaced by `org limit reached: your <tier> plan allows <n> org(s). Upgrade to create more.` */
  orgLimitReached: { status: 402, error: 'org limit reached' },
  /** `error` is replaced by `seat limit reached: your <tier> plan allows <n> member(s). Upgrade to invite more.` */
  seatLimitReached: { status: 402, error: 'seat limit reached' },
  notFound: { status: 404, error: 'not found' },
  /** Of an app without any version that serves. */
  noCodeDeployed: { status: 404, error: 'no code deployed yet' },
  /** A body was announced and stopped coming; the connection is closed. */
  requestTimeout: { status: 408, error: 'request body did not arrive in time' },
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
  /** Of an agent: the control that asks belongs to another database than the one the agent obeys. */
  otherCluster: { status: 409, error: 'host belongs to another cluster' },
  notForkTreeChild: { status: 409, error: 'sandbox is not a child of a fork tree' },
  slugTaken: { status: 409, error: 'slug already taken' },
  alreadyMember: { status: 409, error: 'already a member' },
  /** A workspace always has an owner. */
  lastOwner: { status: 409, error: 'last owner: make another member an owner first, or delete the workspace' },
  /** The header's key was used in the last 24 hours for another request. */
  idempotencyMismatch: { status: 409, error: 'idempotency key was used for a different request' },
  /** `detail` says whether to wait or to look for what was made. */
  idempotencyUnfinished: { status: 409, error: 'the first request with this idempotency key has not finished' },
  /** There is no version of the app to go back to. */
  noEarlierDeployment: { status: 409, error: 'no earlier deployment to roll back to' },
  /** It has ended. */
  deploymentOver: { status: 409, error: 'deployment is not under way' },
  appExists: { status: 409, error: 'app already exists' },
  templateExists: { status: 409, error: 'template already exists' },
  volumeExists: { status: 409, error: 'volume already exists' },
  /** `error` names the volume and who has it. */
  volumeAttached: { status: 409, error: 'volume is attached', fields: ['volume', 'attached_to'] },
  /** It is being copied, grown or deleted; `error` says which. */
  volumeBusy: { status: 409, error: 'volume is being changed', fields: ['volume'] },
  /** There is nothing at the payment provider to be shown. */
  noSubscription: { status: 409, error: 'no subscription' },
  /** A second checkout would sell a second subscription. */
  alreadySubscribed: {
    status: 409,
    error: 'already subscribed',
    detail: 'change the plan on the page of POST /v1/billing/portal',
  },
  /** The same change is under way for the same resource. */
  conflict: { status: 409, error: 'conflict' },
  /** Of an app. */
  tooManyDomains: { status: 429, error: 'max domains reached', fields: ['max', 'active'] },
  /** Of a workspace. */
  tooManyApps: { status: 429, error: 'max apps reached', fields: ['max', 'active'] },
  /** Of a workspace. */
  tooManyTokens: { status: 429, error: 'max tokens reached', fields: ['max', 'active'] },
  /** From one address; keys in use there still pass. */
  tooManyFailures: { status: 429, error: 'too many failed attempts' },
  /** With header `Retry-After: 1`. */
  rateLimited: { status: 429, error: 'rate limit: 50 req/burst, 25/sec sustained per workspace' },
  hourlyCreateLimit: { status: 429, error: 'hourly create limit exceeded', fields: ['limit_per_hr', 'used_last_hr'] },
  maxSandboxes: { status: 429, error: 'max sandboxes reached', fields: ['max', 'active'] },
  resourceQuota: {
    status: 429,
    error: 'workspace resource quota exceeded',
    fields: ['cpu_used', 'cpu_max', 'memory_mb_used', 'memory_mb_max'],
  },
  monthlyCpuSeconds: { status: 429, error: 'monthly cpu-seconds quota exceeded' },
  monthlyBudget: { status: 429, error: 'monthly budget exceeded' },
  /** The plan's number of volumes, or the size of one; with `max` and `active`, or `max_size_mb`. */
  volumeQuota: { status: 429, error: 'volume quota exceeded' },
  /** Builds of the workspace that have not ended. */
  tooManyBuilds: { status: 429, error: 'max builds reached', fields: ['max', 'active'] },
  /** Named by the user in one sandbox. */
  tooManyPorts: { status: 429, error: 'max ports reached', fields: ['max'] },
  /** A sandbox holds 512 live commands, and 64 kept ones with 64 MiB of output. */
  tooManyCommands: { status: 429, error: 'too many commands in this sandbox' },
  /** A sandbox holds 512 connections to its ports. */
  tooManyConnections: { status: 429, error: 'too many connections to this sandbox' },
  bodyTooLarge: { status: 413, error: 'request body too large' },
  /** The range begins behind the end of the file; `Content-Range` says where that is. */
  rangeNotSatisfiable: { status: 416, error: 'range not satisfiable' },
  unsupportedMediaType: { status: 415, error: 'unsupported media type' },
  /** A route that only speaks WebSocket was asked without an upgrade. */
  upgradeRequired: { status: 426, error: 'upgrade required', detail: 'this route speaks WebSocket' },
  internal: { status: 500, error: 'internal error' },
  /** The host has the data, and cannot read what describes it. Nothing of it is changed until an operator has acted. */
  recordUnreadable: {
    status: 500,
    error: 'the record of this resource cannot be read',
    detail: 'its data is kept; the operator of the service must repair the record',
  },
  noComputeNode: { status: 502, error: 'no available compute node' },
  paymentProvider: { status: 502, error: 'payment provider unreachable' },
  gitProvider: { status: 502, error: 'git provider unreachable' },
  agentUnreachable: { status: 502, error: 'agent unreachable' },
  /** Of a token of a foreign issuer: its keys cannot be had. */
  issuerUnreachable: { status: 503, error: 'token issuer unreachable' },
  /** Inside the sandbox, on the port that was asked for. */
  nothingListening: { status: 502, error: 'nothing is listening on this port' },
  gitProviderUnconfigured: { status: 503, error: 'no git provider is configured' },
  paymentsUnconfigured: { status: 503, error: 'payments are not configured' },
  shuttingDown: { status: 503, error: 'shutting down' },
  /** `error` is replaced by `command timeout after <n>s`. */
  commandTimeout: { status: 504, error: 'command timeout' },
  /** The sandbox's own disk; what was to be replaced is as it was. */
  diskFull: { status: 507, error: 'no space left in the sandbox' },
  insufficientStorage: { status: 507, error: 'insufficient host storage for volume' },
  /** Of the disk that the service itself writes to. */
  databaseFull: { status: 507, error: 'insufficient host storage' },
  sandboxStorage: { status: 507, error: 'insufficient host storage for sandbox' },
  templateStorage: { status: 507, error: 'insufficient host storage for template' },
  insufficientMemory: { status: 507, error: 'insufficient host memory for sandbox' },
} as const satisfies Record<string, RegisteredError>

/** What is always so of one kind of error. */
export interface RegisteredError {
  readonly status: number
  readonly error: string
  readonly detail?: string
  /** Context that its body carries beside `error`, in `snake_case`. */
  readonly fields?: readonly string[]
}

export type ErrorName = keyof typeof registry

/** All of them, in the order of their statuses' first mention. */
export const errorNames = Object.keys(registry) as readonly ErrorName[]

export function registeredError(name: ErrorName): RegisteredError {
  return registry[name]
}

/** The flat error body: `error`, perhaps `detail`, and context fields beside them; never nested. */
export interface ErrorBody {
  error: string
  detail?: string
  [context: string]: unknown
}

/** Thrown anywhere below a route; the route's error handler answers it as it stands. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly kind: ErrorName
  readonly status: number
  readonly body: ErrorBody

  /** @param fields replace or join the registry's body: `detail`, `error`, or context such as `max` and `active` */
  constructor(kind: ErrorName, fields: Partial<ErrorBody> = {}, options?: ErrorOptions) {
    const { status, error, detail } = registeredError(kind)
    const merged: ErrorBody = { error, ...(detail !== undefined && { detail }), ...fields }
    super(merged.error, options)
    this.kind = kind
    this.status = status
    this.body = merged
  }
}
