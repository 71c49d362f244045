import { randomUUID, X509Certificate } from 'node:crypto'
import {
  certificateBody,
  EDGE_CERTIFICATE_PATH,
  EDGE_HOSTS_PATH,
  EDGE_VERSION_PATH,
  type EdgeHost,
  edgeVersionBody,
  type SignedCertificate,
  type TrustVersion,
} from '@offshoot/contract/edge-host'
import { EDGE_NAME, trustVersionOf } from '@offshoot/contract/fleet-identity'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { admitEdge } from '../../../fleet/admit-edge.ts'
import { CERTIFICATE_SECONDS } from '../../../fleet/fleet-authority.ts'
import { reportVersion } from '../../../fleet/fleet-authority-statements.ts'
import { certify } from '../../../fleet/host-certificates.ts'
import { HEARTBEAT_MS } from '../../../platform/http/event-stream.ts'
import { parseBody, parseWith } from '../../../platform/http/body.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

/** Seconds without a report after which an edge counts as gone. */
const EDGE_REPORT_SECONDS = 60

const certificateQuery = z.object({ edge: edgeVersionBody.shape.id.optional() })

/**
 * `GET /internal/hosts`, `POST /internal/edge-certificate` and `POST /internal/edge-version`, for edges (contract/edge-host.ts). Not part of the
 * public API.
 */
export function edgeHostRoutes(app: FastifyInstance, control: OrgsContext): void {
  const { pool } = control.database
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
    const signed = await certify(control.fleetAuthority, parseBody(request, certificateBody).request, EDGE_NAME)
    const { edge } = parseWith(certificateQuery, request.query)
    const version = trustVersionOf(new X509Certificate(signed.certificate))
    // An edge of an earlier version says nothing of itself, so its certificate counts as used while it is valid.
    if (edge === undefined) await reportVersion(pool, 'edge', randomUUID(), version, CERTIFICATE_SECONDS)
    return signed
  })
  app.post(EDGE_VERSION_PATH, async (request): Promise<TrustVersion> => {
    await admitEdge(control, request)
    const { id, version } = parseBody(request, edgeVersionBody)
    await reportVersion(pool, 'edge', id, version, EDGE_REPORT_SECONDS)
    return { version: (await control.fleetAuthority.version()) ?? 0 }
  })
}
