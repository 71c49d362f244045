import type { CodeResult } from '@offshoot/contract/code'
import { type EventStream, openEvents, type ServerEvent } from './event-stream.ts'
import type { Offshoot } from './offshoot.ts'

export interface AskedCode {
  readonly language?: string
  readonly context_id?: string
  readonly env?: Record<string, string>
  readonly timeout_seconds?: number
}

export interface RanCode {
  readonly stdout: string
  readonly stderr: string
  readonly results: readonly CodeResult[]
  readonly error: { readonly name: string; readonly value: string; readonly traceback: string } | undefined
  readonly last: ServerEvent | undefined
}

/** Starts code in a sandbox; the stream has its events. */
export function openCode(offshoot: Offshoot, id: string, code: string, asked: AskedCode = {}): Promise<EventStream> {
  return openEvents(offshoot, 'POST', `/v1/sandboxes/${id}/code`, { body: { code, ...asked } })
}

/** What an execution gave, by kind. */
export function ranCode(events: readonly ServerEvent[]): RanCode {
  const dataOf = (name: string) => events.filter(({ event }) => event === name).map(({ data }) => data)
  const textOf = (name: string) =>
    dataOf(name)
      .map(({ chunk }) => chunk as string)
      .join('')
  return {
    stdout: textOf('stdout'),
    stderr: textOf('stderr'),
    results: dataOf('result'),
    error: dataOf('error').find(({ name }) => name !== undefined),
    last: events.at(-1),
  }
}
