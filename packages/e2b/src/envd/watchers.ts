import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import type { SandboxId } from '@offshoot/contract/ids'
import type { EnvdCall } from './call.ts'
import { type FilesystemEvent, type Watched, watchFolder } from './watch-folder.ts'

/** Watchers of one sandbox. */
const MAX_PER_SANDBOX = 64
/** Events that one watcher keeps. After that the oldest are dropped. */
const MAX_EVENTS = 4096
/** Milliseconds in which an event arrives after its change. */
const MAX_WAIT_MS = 200
const POLL_MS = 20
/** Milliseconds after which a watcher whose events nobody takes is closed. */
const UNUSED_MS = 10 * 60_000

interface Watcher {
  readonly sandboxId: SandboxId
  readonly events: FilesystemEvent[]
  readonly stop: AbortController
  unused: NodeJS.Timeout
  failure: ConnectError | null
}

/**
 * Watchers that clients ask for their events from time to time, because they cannot read a stream. They are the only
 * state of the gateway: after its restart a client gets NotFound, and opens another watcher.
 */
export class Watchers {
  readonly #open = new Map<string, Watcher>()

  /** Returns when changes are recorded. */
  async open(call: EnvdCall, watched: Watched): Promise<string> {
    const { sandboxId } = call
    const others = [...this.#open.values()].filter((each) => each.sandboxId === sandboxId)
    if (others.length >= MAX_PER_SANDBOX) {
      throw new ConnectError(`a sandbox has at most ${MAX_PER_SANDBOX} watchers`, Code.ResourceExhausted)
    }
    const stop = new AbortController()
    const changes = watchFolder(call, watched, stop.signal)
    await changes.next()
    const id = randomUUID()
    const watcher = { sandboxId, events: [], stop, unused: this.#closeLater(id), failure: null }
    this.#open.set(id, watcher)
    void record(watcher, changes)
    return id
  }

  /**
   * Returns the events since the last call. Waits for a first one a short time: clients ask right after a change whose event is still on its way.
   * @throws {ConnectError} NotFound, or what ended the watcher
   */
  async take(sandboxId: SandboxId, id: string): Promise<FilesystemEvent[]> {
    const watcher = this.#find(sandboxId, id)
    clearTimeout(watcher.unused)
    watcher.unused = this.#closeLater(id)
    const untilMs = Date.now() + MAX_WAIT_MS
    while (watcher.events.length === 0 && watcher.failure === null && Date.now() < untilMs) await delay(POLL_MS)
    await delay(POLL_MS)
    if (watcher.events.length === 0 && watcher.failure !== null) throw watcher.failure
    return watcher.events.splice(0)
  }

  close(sandboxId: SandboxId, id: string): void {
    this.#close(id, this.#find(sandboxId, id))
  }

  closeAll(): void {
    for (const [id, watcher] of this.#open) this.#close(id, watcher)
  }

  #find(sandboxId: SandboxId, id: string): Watcher {
    const watcher = this.#open.get(id)
    if (watcher?.sandboxId === sandboxId) return watcher
    throw new ConnectError(`watcher ${id} not found`, Code.NotFound)
  }

  #closeLater(id: string): NodeJS.Timeout {
    const close = () => {
      const watcher = this.#open.get(id)
      if (watcher !== undefined) this.#close(id, watcher)
    }
    return setTimeout(close, UNUSED_MS).unref()
  }

  #close(id: string, watcher: Watcher): void {
    this.#open.delete(id)
    clearTimeout(watcher.unused)
    watcher.stop.abort()
  }
}

async function record(watcher: Watcher, changes: ReturnType<typeof watchFolder>): Promise<void> {
  try {
    for await (const { event } of changes) {
      if (event?.case === 'filesystem') watcher.events.push(event.value)
      if (watcher.events.length > MAX_EVENTS) watcher.events.shift()
    }
  } catch (error) {
    watcher.failure = new ConnectError((error as Error).message, Code.Unavailable)
  }
}
