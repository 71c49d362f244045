import type { IncomingHttpHeaders } from 'node:http'
import { createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { SandboxId } from '@offshoot/contract/ids'
import type { ControlClient, ControlRequest } from '../control/control-client.ts'

/** The user of a sandbox whose clients name none. */
const DEFAULT_USER = 'user'

/** One admitted request to the inside of a sandbox: sends it to control with the sandbox's own credential. */
export class EnvdCall {
  readonly sandboxId: SandboxId
  readonly control: ControlClient
  /** Breaks the client's connection off. */
  readonly drop: () => void
  readonly #token: string

  constructor(control: ControlClient, sandboxId: SandboxId, token: string, drop: () => void) {
    this.control = control
    this.sandboxId = sandboxId
    this.drop = drop
    this.#token = token
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
