import type { Deadline } from '@offshoot/kit/deadline'
import { SetupFailure } from '../base/setup-failure.ts'

/** Control refused. */
export class JoinRefused extends SetupFailure {
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

interface Question {
  readonly token: string
  readonly body?: object
}

/** Posts to control. @throws JoinRefused, or SetupFailure if control cannot be reached */
export async function askControl(url: string, { token, body = {} }: Question, deadline: Deadline): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const request = {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    redirect: 'error',
    signal: deadline.signal,
  } as const
  const { origin } = new URL(url)
  const answer = await fetch(url, request).catch((error: unknown) => {
    deadline.throwIfOver()
    const { cause = error } = error as { cause?: Error }
    throw new SetupFailure(`${origin} cannot be reached: ${(cause as Error).message}`, { cause: error })
  })
  const text = await answer.text()
  if (answer.ok) return JSON.parse(text)
  throw new JoinRefused(`${origin} refuses this host (${answer.status}): ${errorIn(text)}`, answer.status)
}

function errorIn(text: string): string {
  try {
    const { error, detail } = JSON.parse(text) as { error?: string; detail?: string }
    if (error !== undefined) return detail === undefined ? error : `${error}: ${detail}`
  } catch {
    // Not JSON: something else answered.
  }
  return text.slice(0, 200)
}
