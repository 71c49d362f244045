import { setTimeout as delay } from 'node:timers/promises'
import { type ServerEvent, serverEvents } from '@offshoot/sdk'
import type { Request } from './api.ts'
import type { Cli } from './cli.ts'
import { EXIT, Failure } from './failure.ts'

/** Milliseconds before the first attempt to connect again; doubled up to the longest. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
/** Milliseconds without a connection after which following gives up. */
const PATIENCE_MS = 300_000
/** Milliseconds without a connection after which the user is told. */
const NOTE_AFTER_MS = 2_000

/**
 * Follows a stream of events until it is over or the user leaves. When the connection breaks, it continues after the
 * last event that arrived, so that no event is missing or comes twice.
 * @param query of the first connection; its `tail` does not apply to further ones
 * @throws Failure if the server refuses, or stays away for five minutes
 */
export async function* follow(
  cli: Cli,
  path: string,
  query: NonNullable<Request['query']>,
): AsyncGenerator<ServerEvent, void, undefined> {
  const api = await cli.api()
  let last: string | null = null
  let lostAt: number | null = null
  let pauseMs = FIRST_PAUSE_MS
  let isNoted = false
  while (!cli.signal.aborted) {
    try {
      const response = await api.fetch('GET', path, {
        query: last === null ? query : { ...query, tail: undefined },
        headers: { accept: 'text/event-stream', ...(last !== null && { 'last-event-id': last }) },
        signal: cli.signal,
        isEndless: true,
      })
      if (response.body === null) return
      if (isNoted) cli.out.note('offshoot: connected again')
      isNoted = false
      for await (const event of serverEvents(response.body)) {
        lostAt = null
        pauseMs = FIRST_PAUSE_MS
        last = event.id ?? last
        if (event.event === 'done') return
        yield event
      }
    } catch (error) {
      if (cli.signal.aborted) break
      // What the stream belongs to is gone: the stream is over, unless it never began.
      const { exitCode } = error instanceof Failure ? error : { exitCode: EXIT.failed }
      if (exitCode === EXIT.notFound && lostAt !== null) return
      if (exitCode !== EXIT.failed) throw error
      if (lostAt === null && last === null && error instanceof Failure && error.requestId !== null) throw error
      if (Date.now() - (lostAt ?? Date.now()) > PATIENCE_MS) throw error
    }
    lostAt ??= Date.now()
    if (!isNoted && Date.now() - lostAt > NOTE_AFTER_MS) {
      cli.out.note('offshoot: the connection is lost, trying again')
      isNoted = true
    }
    await delay(pauseMs, undefined, { signal: cli.signal }).catch(() => undefined)
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
  }
}
