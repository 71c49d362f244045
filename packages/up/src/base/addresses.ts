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

/** The API with TLS, and a certificate by ACME. Absent fields get control's defaults. */
export interface TlsArguments {
  /** A domain in lower case. */
  readonly name: string
  readonly acme: { readonly directory_url?: string; readonly email?: string }
}

/** Address of an ACME directory; `null` if it is not set. @throws UsageError */
export function parseDirectory(env: Readonly<NodeJS.ProcessEnv>, name: string): string | null {
  const url = env[name]
  if (!url) return null
  if (!URL.canParse(url)) throw new UsageError(`${name} must be a URL, not "${url}"`)
  return url
}

/** `OFFSHOOT_TLS_NAME` and those that belong to it. @throws UsageError */
export function parseTls(env: Readonly<NodeJS.ProcessEnv>): TlsArguments | null {
  const { OFFSHOOT_TLS_NAME: given, OFFSHOOT_TLS_ACME_EMAIL: email } = env
  if (!given) return null
  const name = given.toLowerCase()
  if (!DOMAIN.test(name) || !name.includes('.'))
    throw new UsageError(`OFFSHOOT_TLS_NAME must be a name in the public DNS, not "${given}"`)
  const url = parseDirectory(env, 'OFFSHOOT_TLS_ACME_DIRECTORY')
  return { name, acme: { ...(url !== null && { directory_url: url }), ...(email && { email }) } }
}
