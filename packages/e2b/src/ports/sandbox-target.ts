import type { IncomingHttpHeaders } from 'node:http'
import type { SandboxId } from '@offshoot/contract/ids'
import { parsePort } from '@offshoot/contract/port'
import { labelBefore } from '@offshoot/contract/preview-address'
import type { SandboxAccess } from '../base/sandbox-access.ts'
import { parseShownId } from '../base/sandbox-id.ts'

/** The port at which E2B's clients reach commands and files of a sandbox. The gateway itself answers there. */
export const ENVD_PORT = 49_983

/** What a request is for. `null` as an id: no id, so no sandbox. */
export type Target =
  | { readonly kind: 'api' }
  | { readonly kind: 'port'; readonly shown: string; readonly id: SandboxId | null; readonly port: number }

/**
 * Clients name a sandbox in the host, or in two headers if they were given one address for all sandboxes. Early ones
 * leave the headers out of requests for files; their access token then names it.
 */
export function targetOf(headers: IncomingHttpHeaders, suffix: string, access: SandboxAccess): Target {
  const shown = headers['e2b-sandbox-id']
  const port = parsePort(String(headers['e2b-sandbox-port'] ?? ENVD_PORT))
  if (typeof shown === 'string' && port !== null) return { kind: 'port', shown, id: parseShownId(shown), port }
  return ofHost(headers.host ?? '', suffix) ?? ofToken(headers['x-access-token'], access) ?? { kind: 'api' }
}

function ofHost(host: string, suffix: string): Target | null {
  const [, digits = '', shown = ''] = /^(\d+)-([^.]+)$/.exec(labelBefore(host, suffix) ?? '') ?? []
  const port = parsePort(digits)
  return port === null ? null : { kind: 'port', shown, id: parseShownId(shown), port }
}

function ofToken(token: string | readonly string[] | undefined, access: SandboxAccess): Target | null {
  const id = typeof token === 'string' ? access.sandboxOf(token) : null
  return id === null ? null : { kind: 'port', shown: id, id, port: ENVD_PORT }
}
