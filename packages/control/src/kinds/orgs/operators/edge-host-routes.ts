import {
  certificateBody,
  EDGE_CERTIFICATE_PATH,
  EDGE_HOSTS_PATH,
  type EdgeHost,
  type SignedCertificate,
} from '@offshoot/contract/edge-host'
import { EDGE_NAME } from '@offshoot/contract/fleet-identity'
import type { FastifyInstance } from 'fastify'
import { admitEdge } from '../../../fleet/admit-edge.ts'
import { certify } from '../../../fleet/host-certificates.ts'
import { HEARTBEAT_MS } from '../../../platform/http/event-stream.ts'
import { parseBody } from '../../../platform/http/body.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

/**
 * `GET /internal/hosts` and `POST /internal/edge-certificate`, for edges (contract/edge-host.ts). Not part of the
 * public API.
 */
export function edgeHostRoutes(app: FastifyInstance, control: OrgsContext): void {
  app.get(EDGE_HOSTS_PATH, async (request, reply) => {
    await admitEdge(control, request)
    reply.hijack()
    const { raw } = reply
    raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    raw.flushHeaders()
    let sent = ''
    const send = () => {
      const data = JSON.stringify(control.joinedHosts.forEdges satisfies readonly EdgeHost[])
      if (data === sent) return
      sent = data
      raw.write(`event: hosts\ndata: ${data}\n\n`)
    }
    const ignore = control.joinedHosts.onChange(send)
    send()
    const heartbeat = setInterval(() => raw.write(': \n\n'), HEARTBEAT_MS)
    const forget = control.openStreams.add(() => raw.destroy())
    await new Promise((resolve) => raw.once('close', resolve))
    clearInterval(heartbeat)
    ignore()
    forget()
  })
  app.post(EDGE_CERTIFICATE_PATH, async (request): Promise<SignedCertificate> => {
    await admitEdge(control, request)
    return certify(control.fleetAuthority, parseBody(request, certificateBody).request, EDGE_NAME)
  })
}
