import { FairLimit } from '@offshoot/kit/fair-limit'
import { type Peer, peerConnector } from '@offshoot/kit/mutual-tls'
import { Pool } from 'undici'

/**
 * Milliseconds to open a connection. Short, so that a dead agent costs a request little; a live agent accepts at once.
 */
const CONNECT_TIMEOUT_MS = 2_000
/** The share of each kind of connection to one agent that one workspace may hold. */
const WORKSPACE_SHARE = 1 / 2
/** Connections of one kind, with the number that each workspace holds. */
export interface Connections {
  readonly pool: Pool
  readonly shares: FairLimit
}

export function connections(url: string, peer: Peer, count: number): Connections {
  const connect = peer.tls === null ? { timeout: CONNECT_TIMEOUT_MS } : peerConnector(peer, CONNECT_TIMEOUT_MS)
  return {
    pool: new Pool(url, { pipelining: 1, connect, connections: count }),
    shares: new FairLimit(count * WORKSPACE_SHARE, count),
  }
}
