import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Server as TlsServer } from 'node:tls'
import { CONTROL_NAME, EDGE_NAME } from '@offshoot/contract/fleet-identity'
import { admitPeers, replaceIdentity, TLS_OPTIONS, type TlsIdentity } from '@offshoot/kit/mutual-tls'

/** @param tls admits control and edges only, as an agent of a host that has joined */
export function fakeServer(tls: TlsIdentity | undefined, handle: RequestListener): Server {
  if (tls === undefined) return createServer(handle)
  const server = createTlsServer({ ...tls, ...TLS_OPTIONS, requestCert: true, rejectUnauthorized: true }, handle)
  admitPeers(server, [CONTROL_NAME, EDGE_NAME])
  return server
}

export function presentIdentity(server: Server, tls: TlsIdentity): void {
  replaceIdentity(server as unknown as TlsServer, tls)
}
