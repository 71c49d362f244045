/**
 * Every deliberate error of the API: its status and its text. `docs/errors.md` is generated from it. Clients branch on
 * the status. The text may change unless the specification quotes it.
 */
const registry = {
  invalidJson: { status: 400, error: 'invalid json' },
  /** The thrower replaces `error` with a sentence that names the field. */
  invalidField: { status: 400, error: 'invalid request' },
  missingBearerToken: { status: 401, error: 'unauthorized', detail: 'missing bearer token' },
  invalidApiToken: { status: 401, error: 'unauthorized', detail: 'invalid api token' },
  /** A webhook's signature does not match its body. */
  invalidSignature: { status: 401, error: 'unauthorized', detail: 'invalid signature' },
  jwtRequired: { status: 401, error: 'unauthorized', detail: 'jwt required' },
  /** `detail` names the support contact. */
  accountSuspended: { status: 403, error: 'account suspended' },
  /** Global templates belong to all workspaces. */
  templateGlobal: { status: 403, error: 'global templates cannot be changed' },
  /** The caller's role in the workspace is not sufficient; `detail` names the roles that are. */
  roleMissing: { status: 403, error: 'forbidden' },
  /** The key has scopes, but not the one that the route needs; `detail` names it. */
  scopeMissing: { status: 403, error: 'insufficient scope' },
  /** A page of another site sent the request (`/mcp`). */
  originRefused: { status: 403, error: 'origin not allowed' },
  /** From an agent: a port of a private sandbox, for a visitor whom the edge has not admitted. */
  previewPrivate: { status: 403, error: 'this sandbox is private' },
  /** The invitation was sent to another e-mail address. */
  invitationOfAnother: { status: 403, error: 'invitation is for another e-mail address' },
  /** The workspace's free credit is spent; `detail` explains the consequences. */
  freeQuotaExceeded: {
    status: 402,
    error: 'free quota exceeded',
    detail:
      'the free credit of this month is spent: running sandboxes are paused and nothing is deleted; upgrade the plan, or wait for the first of the month (UTC)',
  },
  /** The same condition, found by the agent. */
  creditExhausted: { status: 402, error: 'monthly free credit exhausted', fields: ['credit_usd', 'cost_usd_used'] },
  subscriptionNotActive: { status: 402, error: 'subscription not active', fields: ['subscription_status'] },
  /**
   * The thrower replaces `error` with `org limit reached: your <tier> plan allows <n> org(s). Upgrade to create more.`
   */
  orgLimitReached: { status: 402, error: 'org limit reached' },
  /**
   * The thrower replaces `error` with `seat limit reached: your <tier> plan allows <n> member(s). Upgrade to invite
   * more.`
   */
  seatLimitReached: { status: 402, error: 'seat limit reached' },
  /** Deleting an account takes the password, or a sign-in within the last minutes. */
  signInAgain: {
    status: 403,
    error: 'sign in again, or send the password',
    detail: 'the session must have begun within the last 5 minutes',
  },
  wrongPassword: { status: 403, error: 'wrong password' },
  notFound: { status: 404, error: 'not found' },
  /** The app has no version that serves. */
  noCodeDeployed: { status: 404, error: 'no code deployed yet' },
  /** The client announced a body and stopped sending it. Control closes the connection. */
  requestTimeout: { status: 408, error: 'request body did not arrive in time' },
  /** A file in a sandbox. */
  fileNotFound: { status: 404, error: 'no such file or directory' },
  sandboxNotFound: { status: 404, error: 'sandbox not found' },
  sandboxNotRunning: { status: 404, error: 'sandbox not found or not running' },
  methodNotAllowed: { status: 405, error: 'method not allowed' },
  /** With a `detail` if the sandbox was hibernated during the request. Without one, nothing of the request has begun. */
  sandboxStopped: { status: 409, error: 'sandbox not running (paused or hibernated) — resume/wake it first' },
  sandboxMoving: { status: 409, error: 'sandbox is moving to another host' },
  /** No code interpreter answers on port 49999 of the sandbox. */
  noCodeInterpreter: {
    status: 409,
    error: 'this sandbox has no code interpreter',
    detail: 'create the sandbox from the template code-interpreter',
  },
  sandboxManaged: {
    status: 409,
    error: 'managed sandbox: delete it from the feature that owns it (Databases or Apps)',
  },
  /** From an agent: the requesting control uses another database than the agent's cluster. */
  otherCluster: { status: 409, error: 'host belongs to another cluster' },
  notForkTreeChild: { status: 409, error: 'sandbox is not a child of a fork tree' },
  slugTaken: { status: 409, error: 'slug already taken' },
  alreadyMember: { status: 409, error: 'already a member' },
  /** A workspace always has an owner. */
  lastOwner: { status: 409, error: 'last owner: make another member an owner first, or delete the workspace' },
  /** An account cannot be deleted while it is the only owner of workspaces that are in use; `workspaces` names them. */
  ownsWorkspaces: {
    status: 409,
    error: 'you are the only owner of workspaces: transfer or delete them first',
    fields: ['workspaces'],
  },
  /** The key was used within the last 24 hours for another request. */
  idempotencyMismatch: { status: 409, error: 'idempotency key was used for a different request' },
  /** `detail` says whether to wait, or to look for the result of the first request. */
  idempotencyUnfinished: { status: 409, error: 'the first request with this idempotency key has not finished' },
  /** A request with `Idempotency-Cancel` came before the request itself, which therefore made nothing and never will. */
  idempotencyCancelled: { status: 409, error: 'the request with this idempotency key was cancelled' },
  /** The app has no earlier version to roll back to. */
  noEarlierDeployment: { status: 409, error: 'no earlier deployment to roll back to' },
  /** The deployment has already ended. */
  deploymentOver: { status: 409, error: 'deployment is not under way' },
  appExists: { status: 409, error: 'app already exists' },
  templateExists: { status: 409, error: 'template already exists' },
  volumeExists: { status: 409, error: 'volume already exists' },
  /** `error` names the volume and the sandbox that has it. */
  volumeAttached: { status: 409, error: 'volume is attached', fields: ['volume', 'attached_to'] },
  /** The volume is being copied, grown or deleted; `error` says which. */
  volumeBusy: { status: 409, error: 'volume is being changed', fields: ['volume'] },
  /** The payment provider has no customer record of the workspace, so it has no page to show. */
  noSubscription: { status: 409, error: 'no subscription' },
  /** A second checkout would sell a second subscription. */
  alreadySubscribed: {
    status: 409,
    error: 'already subscribed',
    detail: 'change the plan on the page of POST /v1/billing/portal',
  },
  /** A concurrent request is making the same change to the same resource. */
  conflict: { status: 409, error: 'conflict' },
  /** Domains of one app. */
  tooManyDomains: { status: 429, error: 'max domains reached', fields: ['max', 'active'] },
  /** Apps of one workspace. */
  tooManyApps: { status: 429, error: 'max apps reached', fields: ['max', 'active'] },
  /** API keys of one workspace. */
  tooManyTokens: { status: 429, error: 'max tokens reached', fields: ['max', 'active'] },
  /** SSH keys of one user. */
  tooManySshKeys: { status: 429, error: 'max ssh keys reached', fields: ['max', 'active'] },
  /** Too many failed authentications from one address. Known valid keys from that address still pass. */
  tooManyFailures: { status: 429, error: 'too many failed attempts' },
  /** Comes with the header `Retry-After: 1`. */
  rateLimited: { status: 429, error: 'rate limit: 50 req/burst, 25/sec sustained per workspace' },
  /** The workspace's other requests hold all connections to the database that a workspace may hold. */
  tooManyRequests: { status: 429, error: 'too many requests at the same time' },
  hourlyCreateLimit: { status: 429, error: 'hourly create limit exceeded', fields: ['limit_per_hr', 'used_last_hr'] },
  maxSandboxes: { status: 429, error: 'max sandboxes reached', fields: ['max', 'active'] },
  resourceQuota: {
    status: 429,
    error: 'workspace resource quota exceeded',
    fields: ['cpu_used', 'cpu_max', 'memory_mb_used', 'memory_mb_max'],
  },
  monthlyCpuSeconds: { status: 429, error: 'monthly cpu-seconds quota exceeded' },
  monthlyBudget: { status: 429, error: 'monthly budget exceeded' },
  /** The plan's limit on the number of volumes (`max`, `active`), or on the size of one (`max_size_mb`). */
  volumeQuota: { status: 429, error: 'volume quota exceeded' },
  /** The plan's limit on the number of webhooks. */
  tooManyWebhooks: { status: 429, error: 'max webhooks reached', fields: ['max', 'active'] },
  /** Unfinished builds of one workspace. */
  tooManyBuilds: { status: 429, error: 'max builds reached', fields: ['max', 'active'] },
  /** Ports that the user has named in one sandbox. */
  tooManyPorts: { status: 429, error: 'max ports reached', fields: ['max'] },
  /** Links of one port of a sandbox, or of one app, that have not expired. */
  tooManyLinks: { status: 429, error: 'max links reached', fields: ['max'] },
  /** Limits of one sandbox: 512 live commands; 1024 background commands, all of which run. */
  tooManyCommands: { status: 429, error: 'too many commands in this sandbox' },
  /** Limit of one sandbox: 512 connections to its ports. */
  tooManyConnections: { status: 429, error: 'too many connections to this sandbox' },
  bodyTooLarge: { status: 413, error: 'request body too large' },
  /** The range begins beyond the end of the file; `Content-Range` gives the file's size. */
  rangeNotSatisfiable: { status: 416, error: 'range not satisfiable' },
  unsupportedMediaType: { status: 415, error: 'unsupported media type' },
  /** The route only supports WebSocket, and the request has no upgrade. */
  upgradeRequired: { status: 426, error: 'upgrade required', detail: 'this route speaks WebSocket' },
  internal: { status: 500, error: 'internal error' },
  /** The host has the object, but cannot read its record. The object stays unchanged until an operator acts. */
  recordUnreadable: {
    status: 500,
    error: 'the record of this resource cannot be read',
    detail: 'its data is kept; the operator of the service must repair the record',
  },
  noComputeNode: { status: 502, error: 'no available compute node' },
  paymentProvider: { status: 502, error: 'payment provider unreachable' },
  gitProvider: { status: 502, error: 'git provider unreachable' },
  agentUnreachable: { status: 502, error: 'agent unreachable' },
  /**
   * Control's PostgreSQL restarts or fails over. A change may have been made
   * before the connection broke, so look first, or send an `Idempotency-Key`.
   */
  databaseUnreachable: { status: 502, error: 'service database unreachable' },
  /** Control cannot fetch the keys of a foreign token issuer. */
  issuerUnreachable: { status: 503, error: 'token issuer unreachable' },
  /** No process in the sandbox listens on the requested port. */
  nothingListening: { status: 502, error: 'nothing is listening on this port' },
  /** From an agent: the host runs no databases until control has renewed its lease. Callers get `agent unreachable`. */
  leaseEnded: { status: 503, error: 'the lease of the host has ended' },
  gitProviderUnconfigured: { status: 503, error: 'no git provider is configured' },
  paymentsUnconfigured: { status: 503, error: 'payments are not configured' },
  shuttingDown: { status: 503, error: 'shutting down' },
  /** The thrower replaces `error` with `command timeout after <n>s`. */
  commandTimeout: { status: 504, error: 'command timeout' },
  /** The sandbox's own disk is full. A file that was to be replaced is unchanged. */
  diskFull: { status: 507, error: 'no space left in the sandbox' },
  insufficientStorage: { status: 507, error: 'insufficient host storage for volume' },
  /** PostgreSQL's own disk is full. */
  databaseFull: { status: 507, error: 'insufficient host storage' },
  sandboxStorage: { status: 507, error: 'insufficient host storage for sandbox' },
  templateStorage: { status: 507, error: 'insufficient host storage for template' },
  insufficientMemory: { status: 507, error: 'insufficient host memory for sandbox' },
} as const satisfies Record<string, RegisteredError>

/** The constant part of one kind of error. */
export interface RegisteredError {
  readonly status: number
  readonly error: string
  readonly detail?: string
  /** Names of the context fields beside `error`, in `snake_case`. */
  readonly fields?: readonly string[]
}

/** Key of an error in the registry. Routes and tests refer to errors by it. */
export type ErrorName = keyof typeof registry

/** All names, in registry order. */
export const errorNames = Object.keys(registry) as readonly ErrorName[]

export function registeredError(name: ErrorName): RegisteredError {
  return registry[name]
}

/** The flat error body: `error`, an optional `detail`, and context fields. Never nested. */
export interface ErrorBody {
  error: string
  detail?: string
  [context: string]: unknown
}

/** May be thrown anywhere below a route. The route's error handler sends it unchanged. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly kind: ErrorName
  readonly status: number
  readonly body: ErrorBody

  /** @param fields override or extend the registry's body: `detail`, `error`, or context such as `max` and `active` */
  constructor(kind: ErrorName, fields: Partial<ErrorBody> = {}, options?: ErrorOptions) {
    const { status, error, detail } = registeredError(kind)
    const merged: ErrorBody = { error, ...(detail !== undefined && { detail }), ...fields }
    super(merged.error, options)
    this.kind = kind
    this.status = status
    this.body = merged
  }
}
