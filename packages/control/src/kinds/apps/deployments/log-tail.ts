import { setTimeout as delay } from 'node:timers/promises'
import { logLine, type LogLine } from '@offshoot/contract/log'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import { EVENTS_SILENCE_MS } from '../../../fleet/agent-client.ts'
import { isOfApp } from '../model/app-lines.ts'
import type { AppsContext } from '../model/apps-context.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'

/** Milliseconds before reconnecting to an agent. */
const RETRY_MS = 1_000
/** Milliseconds between two checks whether lines were taken. */
const LOOK_MS = 50
/** Lines that may wait to be taken. At this number it stops reading the agent's stream. */
const MAX_WAITING = 10_000

/** A line and its number in the log of the sandbox. */
export type NumberedLine = LogLine & { readonly n: number }

/**
 * Follows the output of background commands in one sandbox, from the oldest line that is kept or after a given one. It
 * continues an interrupted stream where it broke off.
 */
export class LogTail {
  readonly #ended = new AbortController()
  readonly #signal: AbortSignal
  #waiting: NumberedLine[] = []
  /** Number of the last line received. */
  #cursor: number

  /**
   * @param after number of the last line that is not wanted; 0 for all
   * @param left aborting it ends the tail, like {@link end}
   */
  constructor(
    control: Pick<AppsContext, 'fleet'>,
    sandbox: SandboxRow,
    after: number,
    requestId: string,
    left: AbortSignal,
  ) {
    this.#cursor = after
    this.#signal = AbortSignal.any([left, this.#ended.signal])
    void this.#run(control, sandbox, requestId)
  }

  /** Returns the lines received since the last call. */
  take(): readonly NumberedLine[] {
    const taken = this.#waiting
    this.#waiting = []
    return taken
  }

  end(): void {
    this.#ended.abort()
  }

  async #run({ fleet }: Pick<AppsContext, 'fleet'>, sandbox: SandboxRow, requestId: string): Promise<void> {
    while (!this.#signal.aborted) {
      // The agent is unreachable or the stream broke, so try again from the cursor.
      await this.#follow(fleet, sandbox, requestId).catch(() => undefined)
      await delay(RETRY_MS, undefined, { signal: this.#signal }).catch(() => undefined)
    }
  }

  async #follow(fleet: AppsContext['fleet'], sandbox: SandboxRow, requestId: string): Promise<void> {
    const answer = await fleet.byId(sandbox.agent_id)?.client.forward({
      method: 'GET',
      path: `/v1/sandboxes/${sandbox.id}/logs?follow=1`,
      workspaceId: sandbox.workspace_id,
      requestId,
      headers: { accept: 'text/event-stream', ...(this.#cursor > 0 && { 'last-event-id': String(this.#cursor) }) },
      timeoutMs: EVENTS_SILENCE_MS,
      silenceMs: EVENTS_SILENCE_MS,
      signal: this.#signal,
    })
    if (answer === undefined) return
    if (answer.statusCode !== 200) {
      await answer.body.dump()
      return
    }
    for await (const events of readServerSentEvents(answer.body)) {
      for (const { id, event, data } of events) {
        this.#cursor = id === null ? this.#cursor : Number(id)
        if (event !== 'line') continue
        const line = logLine.parse(JSON.parse(data))
        if (isOfApp(line)) this.#waiting.push({ ...line, n: this.#cursor })
      }
      while (this.#waiting.length > MAX_WAITING) await delay(LOOK_MS, undefined, { signal: this.#signal })
    }
  }
}
