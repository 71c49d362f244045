import { EDGE_ACME_PATH, EDGE_CERTIFICATES_PATH, type EdgeCertificate } from '@offshoot/contract/edge-app'
import { ownCertificateName } from '@offshoot/contract/control-settings'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { admitEdge } from '../../../fleet/admit-edge.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { acmeAnswer, servedCertificate } from './certificate-statements.ts'
import { ownAcmeAnswer } from './own-certificate-statements.ts'

/**
 * `GET /internal/certificates/{domain}` and `GET /internal/acme-answers/{domain}/{token}`, for edges. Not part of the
 * public API.
 */
export function edgeCertificateRoutes(app: FastifyInstance, control: AppsContext): void {
  const { pool } = control.database
  app.get(`${EDGE_CERTIFICATES_PATH}/:domain`, async (request): Promise<EdgeCertificate> => {
    await admitEdge(control, request)
    const { domain } = request.params as { domain: string }
    const [row] = await servedCertificate(pool, domain)
    if (row === undefined) throw new ApiError('notFound')
    return { fingerprint: row.fingerprint, cert: row.chain, key: control.certificateKeys.open(row.key) }
  })
  app.get(`${EDGE_ACME_PATH}/:domain/:token`, async (request) => {
    await admitEdge(control, request)
    const { domain, token } = request.params as { domain: string; token: string }
    const isOwn = domain === ownCertificateName(control.config)
    const [row] = await (isOwn ? ownAcmeAnswer : acmeAnswer)(pool, domain, token)
    if (row === undefined) throw new ApiError('notFound')
    return row
  })
}
