import { ApiError, type ErrorBody, type ErrorName, registeredError } from '@offshoot/contract/errors'

interface Asked {
  readonly method: string
  readonly path: string
}

/** Errors of a connection that was never made, so that nothing of the request has arrived. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** No answer came. The message is for the log; callers are told `agent unreachable`. */
export class AgentUnreachable extends Error {
  override readonly name = 'AgentUnreachable'
  /** Whether the agent may have begun what was asked. */
  readonly mayHaveBegun: boolean

  constructor({ method, path }: Asked, cause: unknown) {
    super(`no answer to ${method} ${path}`, { cause })
    const code = (cause as NodeJS.ErrnoException | undefined)?.code
    this.mayHaveBegun = code === undefined || !NEVER_SENT.has(code)
  }
}

/** The agent answered, and not with success. */
export class AgentRefused extends Error {
  override readonly name = 'AgentRefused'
  readonly status: number
  /** What the agent said. */
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
    // Not JSON: its beginning says more than nothing.
  }
  return { error: text.slice(0, 200) }
}

/** What an agent's refusals are to callers; every other one is between us and it. */
const PASSED_ON: Partial<Record<number, ErrorName>> = {
  402: 'creditExhausted',
  404: 'sandboxNotFound',
  409: 'conflict',
  503: 'agentUnreachable',
  507: 'insufficientMemory',
}

/** Why a call to an agent failed, as the caller is told: the agent's own words where they are meant for callers. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof AgentUnreachable) return new ApiError('agentUnreachable', {}, { cause: error })
  if (!(error instanceof AgentRefused)) return error
  const name = isAboutRecord(error) ? 'recordUnreadable' : PASSED_ON[error.status]
  if (name === undefined) return error
  return new ApiError(name, name === 'agentUnreachable' ? {} : error.body, { cause: error })
}

/** An agent's other errors of this status are between us and it. */
function isAboutRecord({ status, body }: AgentRefused): boolean {
  const known = registeredError('recordUnreadable')
  return status === known.status && body.error === known.error
}

/** For a call's `catch`. @see refusalOf */
export function refuse(error: unknown): never {
  throw refusalOf(error)
}
