import { forkTree } from '@offshoot/contract/fork'
import type { SandboxId } from '@offshoot/contract/ids'
import { sandbox as sandboxSchema, wokenSandbox, type Sandbox } from '@offshoot/contract/sandbox'
import type { ControlClient } from '../control/control-client.ts'
import { ControlRefused } from '../control/control-failure.ts'
import { ApiFailure } from './errors.ts'
import { AUTO_RESUME } from './present-sandbox.ts'

/** Seconds until a sandbox ends, if a client names none. */
export const DEFAULT_TIMEOUT_SECONDS = 300

/** What the gateway does with the caller's sandboxes, with the caller's own key. */
export class OwnSandboxes {
  readonly #control: ControlClient
  readonly #token: string

  constructor(control: ControlClient, token: string) {
    this.#control = control
    this.#token = token
  }

  find(id: SandboxId): Promise<Sandbox> {
    return this.#control.read(sandboxSchema, { method: 'GET', path: pathOf(id), token: this.#token })
  }

  async remove(id: SandboxId): Promise<void> {
    await this.#control.send({ method: 'DELETE', path: pathOf(id), token: this.#token })
  }

  /** Ends it after so many seconds from now, whatever was set before. */
  async setTimeout(id: SandboxId, seconds: number): Promise<void> {
    // Zero means now. Control takes no less than a second.
    await this.#patch(id, { ttl_seconds: Math.max(seconds, 1) })
  }

  /**
   * Hibernates it, and keeps it until a client connects again: paused sandboxes of E2B have no deadline.
   * @param memory `false`: only its disk is kept
   * @throws {ApiFailure} 409 if it is paused
   */
  async pause(id: SandboxId, memory: boolean): Promise<void> {
    const sandbox = await this.find(id)
    if (isPaused(sandbox)) throw new ApiFailure(409, `sandbox ${id} is paused`)
    if (isOurs(sandbox)) await this.#patch(id, { persistent: true })
    await this.#move(id, 'hibernate', { memory })
  }

  /**
   * Wakes it if it sleeps, and gives it at least so many seconds from now.
   * @returns `wasPaused`: whether it slept
   */
  async connect(id: SandboxId, seconds: number): Promise<{ sandbox: Sandbox; wasPaused: boolean }> {
    const sandbox = await this.find(id)
    const wasPaused = isPaused(sandbox)
    if (sandbox.status === 'paused') await this.#move(id, 'resume')
    else if (wasPaused) await this.#move(id, 'wake')
    if (sandbox.persistent && !isOurs(sandbox)) return { sandbox, wasPaused }
    const untilMs = Date.now() + seconds * 1000
    const isLonger = sandbox.persistent || wasPaused || Date.parse(sandbox.expires_at ?? '') < untilMs
    if (isLonger) await this.#patch(id, { persistent: false, ttl_seconds: Math.max(seconds, 1) })
    return { sandbox: isLonger || wasPaused ? await this.find(id) : sandbox, wasPaused }
  }

  /** Each result is a child that has the timeout, or the reason why there is none. */
  async fork(id: SandboxId, count: number, seconds: number): Promise<(Sandbox | { error: string })[]> {
    const path = `${pathOf(id)}/fork-tree`
    const tree = await this.#control.read(forkTree, { method: 'POST', path, token: this.#token, json: { count } })
    const children = await Promise.all(
      tree.children.map(async (child) => {
        await this.setTimeout(child.id as SandboxId, seconds)
        return this.find(child.id as SandboxId)
      }),
    )
    return [...children, ...tree.errors.map(({ error }) => ({ error }))]
  }

  async #patch(id: SandboxId, json: object): Promise<void> {
    await this.#control.send({ method: 'PATCH', path: `${pathOf(id)}/lifecycle`, token: this.#token, json })
  }

  async #move(id: SandboxId, transition: 'hibernate' | 'resume' | 'wake', json: object = {}): Promise<void> {
    const path = `${pathOf(id)}/${transition}`
    await this.#control.read(wokenSandbox, { method: 'POST', path, token: this.#token, json })
  }
}

/** Made by the gateway, so that its timeout rules hold for it. */
function isOurs({ metadata }: Sandbox): boolean {
  return metadata[AUTO_RESUME] !== undefined
}

function isPaused({ status }: Sandbox): boolean {
  return status === 'paused' || status === 'hibernated'
}

/** Whether control does not know the object, or the caller may not. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ControlRefused && error.status === 404
}

function pathOf(id: SandboxId): string {
  return `/v1/sandboxes/${id}`
}
