import { hostName } from '@offshoot/contract/fleet-identity'
import type { MutualTls, Peer } from '@offshoot/kit/mutual-tls'
import { serverAttributes } from '@offshoot/kit/otlp/telemetry'

/** Where an agent is, and what it shares with control. */
export interface AgentAddress {
  readonly url: string
  /** base64 */
  readonly secret: string
  /** The host behind an `https` address, and this process's own certificate. Absent: HTTP on loopback. */
  readonly host?: { readonly id: string; readonly identity: MutualTls } | undefined
}

export function peerOf({ url, host }: AgentAddress): Peer {
  const { 'server.address': address, 'server.port': port } = serverAttributes(url)
  // A URL has the address of IPv6 in brackets.
  const named = { host: address.replace(/^\[|\]$/g, ''), port }
  return { ...named, tls: host === undefined ? null : { identity: host.identity, name: hostName(host.id) } }
}
