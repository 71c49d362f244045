import { parseSandboxId, type SandboxId } from './ids.ts'
import { parsePort } from './port.ts'

/** The public address of the edge. */
export interface PreviewAddress {
  readonly scheme: 'http' | 'https'
  /** The edge's port as visitors see it. */
  readonly port: number
  /** The domain after the label `<port>-<sandbox id>`, e.g. `localhost` or `preview.example.com`. */
  readonly suffix: string
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const

/** Builds `http://3000-6f0c….localhost:8081`, without a trailing slash. */
export function previewUrl(address: PreviewAddress, sandboxId: string, guestPort: number): string {
  return `${address.scheme}://${guestPort}-${sandboxId}.${address.suffix}${visiblePort(address)}`
}

/** `:` and the edge's port; empty for the scheme's default port. */
export function visiblePort({ scheme, port }: Pick<PreviewAddress, 'scheme' | 'port'>): string {
  return port === DEFAULT_PORTS[scheme] ? '' : `:${port}`
}

/** A parsed preview host. */
export interface PreviewHost {
  readonly sandboxId: SandboxId
  /** The TCP port inside the sandbox. */
  readonly port: number
}

/** A port, ours or a proxy's. An empty port counts as none (RFC 9110, 4.2.3). */
const OWN_PORT = /:\d{0,5}$/

/**
 * Parses the sandbox and port from a `Host` header or `:authority`; `null` for other hosts. Case and a final dot are
 * ignored (RFC 4343; RFC 1034, 3.1).
 */
export function parsePreviewHost(host: string, suffix: string): PreviewHost | null {
  const label = labelBefore(host, suffix)
  if (label === null) return null
  const dash = label.indexOf('-')
  const port = parsePort(label.slice(0, dash))
  const sandboxId = parseSandboxId(label.slice(dash + 1))
  return port === null || sandboxId === null ? null : { sandboxId, port }
}

/** The host without port and final dot, in lower case. */
export function nameOfHost(host: string): string {
  return host.replace(OWN_PORT, '').toLowerCase().replace(/\.$/, '')
}

/** The label before the suffix, in lower case; `null` for other hosts. */
export function labelBefore(host: string, suffix: string): string | null {
  const name = nameOfHost(host)
  const tail = `.${suffix}`
  return name.endsWith(tail) ? name.slice(0, -tail.length) : null
}
