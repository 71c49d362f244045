import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { SandboxId } from '@offshoot/contract/ids'
import { sandbox } from '@offshoot/contract/sandbox'
import { shownId } from '../base/sandbox-id.ts'
import type { ControlClient, ControlRequest } from '../control/control-client.ts'
import type { RecentWrites } from './recent-writes.ts'

/** Milliseconds from the end of a VM until control knows of it. */
const MAX_ENDING_MS = 5000
const POLL_MS = 50

/** The user of a sandbox whose clients name none. */
const DEFAULT_USER = 'user'

/** One admitted request to the inside of a sandbox: sends it to control with the sandbox's own credential. */
export class EnvdCall {
  readonly writes: RecentWrites
  readonly sandboxId: SandboxId
  readonly control: ControlClient
  readonly #token: string
  readonly #response: ServerResponse

  constructor(
    { control, writes }: { control: ControlClient; writes: RecentWrites },
    sandboxId: SandboxId,
    token: string,
    response: ServerResponse,
  ) {
    this.control = control
    this.writes = writes
    this.sandboxId = sandboxId
    this.#response = response
    this.#token = token
  }

  /** Variables that programs in E2B's sandboxes find, beside those that their users set. */
  get env(): Readonly<Record<string, string>> {
    return { E2B_SANDBOX: 'true', E2B_SANDBOX_ID: shownId(this.sandboxId) }
  }

  /**
   * Breaks the client's connection off because the sandbox has ended. The client then asks at once whether the sandbox
   * runs, so this waits until control knows of the end.
   */
  async drop(): Promise<void> {
    const untilMs = Date.now() + MAX_ENDING_MS
    while (!this.#response.destroyed && Date.now() < untilMs && (await this.#isRunning())) await delay(POLL_MS)
    this.#response.destroy()
  }

  async #isRunning(): Promise<boolean> {
    try {
      return (await this.control.read(sandbox, this.request('GET', ''))).status === 'running'
    } catch {
      return false
    }
  }

  /** @param path below the sandbox, e.g. `/fs` */
  request(method: ControlRequest['method'], path: string, rest: Partial<ControlRequest> = {}): ControlRequest {
    return { method, path: `/v1/sandboxes/${this.sandboxId}${path}`, token: this.#token, ...rest }
  }
}

/** Set for every call of a service. */
export const CALL = createContextKey<EnvdCall | null>(null)

export function callOf({ values }: HandlerContext): EnvdCall {
  const call = values.get(CALL)
  if (call === null) throw new Error('a service was called outside of a sandbox')
  return call
}

/** The user that a client names in `Authorization: Basic`, without a password. */
export function userOf(authorization: string | null | undefined): string {
  const encoded = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  const name = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString().split(':', 1)[0]
  return name || DEFAULT_USER
}

/** As {@link userOf}, for requests that may name the user in the query. */
export function userOfRequest(query: URLSearchParams, { authorization }: IncomingHttpHeaders): string {
  return query.get('username') || userOf(authorization)
}

/** An absolute path. Clients give paths relative to the user's home. */
export function absolutePath(path: string, user: string): string {
  if (path.startsWith('/')) return path
  const home = user === 'root' ? '/root' : `/home/${user}`
  const relative = path.replace(/^~(\/|$)/, '').replace(/^(\.\/)+/, '')
  return relative === '' || relative === '.' ? home : `${home}/${relative}`
}
