import { isIP } from 'node:net'
import { type HostLabels, hostLabels, hostZone } from '@offshoot/contract/host-label'
import type { z } from 'zod'
import { DOMAIN } from './addresses.ts'
import type { Flags } from './flags.ts'
import { UsageError } from './usage-error.ts'

/** Port of a joined host's agent. */
const USUAL_PORT = 7443
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Where control and edges reach this host's agent. */
export interface HostAddress {
  /** `null`: the address from which this machine reaches control. */
  readonly host: string | null
  readonly port: number
}

export interface JoinArguments {
  /** Control's address, without a final slash. */
  readonly url: string
  /** `null`: this host has joined before. */
  readonly token: string | null
  readonly address: HostAddress
  /** What the host says of itself when it joins. Later, operators change it. */
  readonly labels: HostLabels
  readonly zone: string | null
}

/** Flags that are for a join alone. */
const OF_JOIN = ['token', 'host-address', 'label', 'zone'] as const

/** `--join URL [--token TOKEN] [--host-address HOST[:PORT]] [--label KEY=VALUE]… [--zone ZONE]`. @throws UsageError */
export function parseJoin(values: Flags, env: Readonly<NodeJS.ProcessEnv>): JoinArguments | null {
  const { join, token, 'host-address': address, label = [], zone } = values
  if (join === undefined) {
    const lone = OF_JOIN.find((name) => values[name] !== undefined)
    if (lone !== undefined) throw new UsageError(`--${lone} goes with --join`)
    return null
  }
  return {
    url: parseUrl(join),
    token: token ?? (env['OFFSHOOT_JOIN_TOKEN'] || null),
    address: parseAddress(address),
    labels: parsed(hostLabels('--label'), Object.fromEntries(label.map((text) => splitLabel(text)))),
    zone: zone === undefined ? null : parsed(hostZone('--zone'), zone),
  }
}

function splitLabel(text: string): [key: string, value: string] {
  const at = text.indexOf('=')
  if (at === -1) throw new UsageError(`--label must be KEY=VALUE, not "${text}"`)
  return [text.slice(0, at), text.slice(at + 1)]
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new UsageError(result.error.issues[0]?.message ?? 'invalid')
}

function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new UsageError(`--join must be the address of control, such as https://control.example.com, not "${text}"`)
  // Whoever reads the token on the way could join in this host's place.
  if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname))
    throw new UsageError('--join needs https, except on this machine')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

function parseAddress(text: string | undefined): HostAddress {
  if (text === undefined) return { host: null, port: USUAL_PORT }
  const [, bracketed, plain, port = String(USUAL_PORT)] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = (bracketed ?? plain ?? '').toLowerCase()
  const isHost = bracketed === undefined ? DOMAIN.test(host) || isIP(host) === 4 : isIP(host) === 6
  if (isHost && Number(port) >= 1 && Number(port) <= 65_535) return { host, port: Number(port) }
  throw new UsageError(`--host-address must be HOST or HOST:PORT, not "${text}"`)
}
