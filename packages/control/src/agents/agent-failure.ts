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
  /** The agent's own `error`, for the log. */
  readonly reason: string

  constructor({ method, path }: Asked, status: number, body: string) {
    const reason = errorOf(body)
    super(`${method} ${path} answered ${status}: ${reason}`)
    this.status = status
    this.reason = reason
  }
}

function errorOf(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown }
    if (typeof error === 'string') return error
  } catch {
    // Not JSON: its beginning says more than nothing.
  }
  return body.slice(0, 200)
}
