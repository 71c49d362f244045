import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'

const refusal = z.object({ error: z.string(), detail: z.string().optional() })

/** Control answered with an error. */
export class ControlRefused extends Error {
  override readonly name = 'ControlRefused'
  readonly status: number
  /** Control's `error`, without its `detail`. */
  readonly error: string
  /** Seconds of control's `Retry-After`. */
  readonly retryAfter: string | undefined

  private constructor(status: number, error: string, message: string, retryAfter: string | undefined) {
    super(message)
    this.status = status
    this.error = error
    this.retryAfter = retryAfter
  }

  /** E2B's service inside a sandbox takes the name of a user for a credential. */
  get isUnknownUser(): boolean {
    return this.status === 400 && this.error.startsWith('no such user: ')
  }

  static of(status: number, headers: IncomingHttpHeaders, text: string): ControlRefused {
    const { error, detail } = refusal.catch({ error: `status ${status}` }).parse(parseJson(text))
    const message = detail === undefined ? error : `${error}: ${detail}`
    return new ControlRefused(status, error, message, headers['retry-after'])
  }
}

/** Control did not answer, or broke off. */
export class ControlUnreachable extends Error {
  override readonly name = 'ControlUnreachable'

  constructor(cause: unknown) {
    super('the service cannot be reached', { cause })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
