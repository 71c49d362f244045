import type { TLSSocket } from 'node:tls'
import { trustVersionOf } from '@offshoot/contract/fleet-identity'
import { type Peer, peerConnector } from '@offshoot/kit/mutual-tls'

const CONNECT_MS = 5_000

/** The version in the certificate that a host shows on a new connection. `null`: it shows none that control trusts. */
export function shownVersion(peer: Peer): Promise<number | null> {
  return new Promise((resolve) => {
    peerConnector(peer, CONNECT_MS)({}, (...[, socket]) => {
      const certificate = (socket as TLSSocket | null)?.getPeerX509Certificate()
      socket?.destroy()
      resolve(certificate === undefined ? null : trustVersionOf(certificate))
    })
  })
}
