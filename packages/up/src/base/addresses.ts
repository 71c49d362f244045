import { isIPv4 } from 'node:net'
import { UsageError } from './usage-error.ts'

/** The domain that clients of E2B are given, and the port at which they reach it. */
export interface E2bDomain {
  readonly suffix: string
  readonly port: number
}

/** Where users reach the SSH gateway. */
export interface SshAddress {
  readonly host: string
  readonly port: number
}

export const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

/** `OFFSHOOT_E2B_DOMAIN`. @throws UsageError */
export function parseE2bDomain(text: string | undefined): E2bDomain | null {
  if (!text) return null
  const [, suffix = '', port = '443'] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? []
  if (DOMAIN.test(suffix) && Number(port) >= 1 && Number(port) <= 65_535) return { suffix, port: Number(port) }
  throw new UsageError(`OFFSHOOT_E2B_DOMAIN must be a domain or DOMAIN:PORT, not "${text}"`)
}

/** `OFFSHOOT_SSH_ADDRESS`. @throws UsageError */
export function parseSshAddress(text: string | undefined): SshAddress | null {
  if (!text) return null
  const [, host = '', port = '22'] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? []
  const isHost = DOMAIN.test(host) || isIPv4(host)
  if (isHost && Number(port) >= 1 && Number(port) <= 65_535) return { host, port: Number(port) }
  throw new UsageError(`OFFSHOOT_SSH_ADDRESS must be a name or an IPv4 address, or HOST:PORT, not "${text}"`)
}
