import { ApiError, type ErrorBody, type ErrorName, registeredError } from '@offshoot/contract/errors'

interface Asked {
  readonly method: string
  readonly path: string
}

/** Errors of connections that were never established, so the agent has received nothing of the request. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** No answer came. The message is for the log; callers see `agent unreachable`. */
export class AgentUnreachable extends Error {
  override readonly name = 'AgentUnreachable'
  /** Whether the agent may have started the operation. */
  readonly mayHaveBegun: boolean

  constructor({ method, path }: Asked, cause: unknown) {
    super(`no answer to ${method} ${path}`, { cause })
    const code = (cause as NodeJS.ErrnoException | undefined)?.code
    this.mayHaveBegun = code === undefined || !NEVER_SENT.has(code)
  }
}

/** The agent answered with an error. */
export class AgentRefused extends Error {
  override readonly name = 'AgentRefused'
  readonly status: number
  /** The agent's error body. */
  readonly body: ErrorBody

  constructor({ method, path }: Asked, status: number, text: string) {
    const body = errorBodyOf(text)
    super(`${method} ${path} answered ${status}: ${body.error}`)
    this.status = status
    this.body = body
  }
}

function errorBodyOf(text: string): ErrorBody {
  try {
    const body = JSON.parse(text) as ErrorBody
    if (typeof body.error === 'string') return body
  } catch {
    // Not JSON: the first characters still help in the log.
  }
  return { error: text.slice(0, 200) }
}

/** The agent's refusals that control forwards to callers. All others are internal. */
const PASSED_ON: Partial<Record<number, ErrorName>> = {
  402: 'creditExhausted',
  404: 'sandboxNotFound',
  409: 'conflict',
  503: 'agentUnreachable',
  507: 'insufficientMemory',
}

const CHANGE_OF_SANDBOX = /^\/v1\/sandboxes\/([0-9a-f-]{36})\/(?!settle$)/

/** The sandbox that a call cannot change because it moves, or has a stored copy. `null` for every other failure. */
export function heldSandbox({ path, body }: Asked & { readonly body?: unknown }, error: unknown): string | null {
  const isMoving = error instanceof AgentRefused && error.body.error === registeredError('sandboxMoving').error
  if (!isMoving || (typeof body === 'object' && !Buffer.isBuffer(body))) return null
  return CHANGE_OF_SANDBOX.exec(path)?.[1] ?? null
}

/** The error that the caller sees for a failed call: the agent's own text if it is meant for callers. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof AgentUnreachable) return new ApiError('agentUnreachable', {}, { cause: error })
  if (!(error instanceof AgentRefused)) return error
  const name = isAboutRecord(error) ? 'recordUnreadable' : PASSED_ON[error.status]
  if (name === undefined) return error
  return new ApiError(name, name === 'agentUnreachable' ? {} : error.body, { cause: error })
}

/** Tells `recordUnreadable` from the agent's other errors of this status, which are internal. */
function isAboutRecord({ status, body }: AgentRefused): boolean {
  const known = registeredError('recordUnreadable')
  return status === known.status && body.error === known.error
}

/** For the `catch` of a call. @see refusalOf */
export function refuse(error: unknown): never {
  throw refusalOf(error)
}
