import type { SignedCertificate, TrustVersion } from '@offshoot/contract/edge-host'
import { ApiError } from '@offshoot/contract/errors'
import {
  HOST_CERTIFICATE_PATH,
  HOST_JOIN_PATH,
  HOST_VERSION_PATH,
  joinBody,
  type JoinedHost,
} from '@offshoot/contract/host-enrolment'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { z } from 'zod'
import { certifyHost, keyHashIn, makeSecret, verifyRenewal } from '../../../fleet/host-certificates.ts'
import { insertJoinedHost, joinedHost, useHostToken } from '../../../fleet/host-statements.ts'
import { serviceActor } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { bearerToken } from '../../../platform/http/bearer-token.ts'
import { parseBody } from '../../../platform/http/body.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { hashOfToken } from './host-tokens.ts'

const NOT_NEW = 'the token is for a host that has joined, with its data directory'
const NOT_FOR_HOST = 'a host that joins again needs a token that was made for it'

/**
 * `POST /internal/hosts/join` with a token, `POST /internal/hosts/certificate` with the present key, and
 * `GET /internal/hosts/version` (contract/host-enrolment.ts). Not part of the public API. Their callers are the supervisors of other machines.
 */
export function hostEnrolmentRoutes(app: FastifyInstance, control: OrgsContext): void {
  app.post(HOST_JOIN_PATH, async (request, reply): Promise<JoinedHost> => {
    refuseSpent(control, request)
    const token = bearerToken(request)
    const { request: asked, host_id: again = null, ...described } = parseBody(request, joinBody)
    const key = await keyHashIn(asked)
    const joined = await transaction(control.database.pool, async (client) => {
      const [used] = await useHostToken(client, hashOfToken(token), key)
      if (used === undefined) return null
      if (used.for_host !== again) throw new ApiError('conflict', { detail: again === null ? NOT_NEW : NOT_FOR_HOST })
      if (used.is_new) await admit(control, client, request, used.host_id, described, again !== null)
      return secretsOf(control, client, used.host_id)
    })
    if (joined === null) {
      control.failures.note(request.ip)
      throw new ApiError('invalidApiToken')
    }
    void reply.header('cache-control', 'no-store')
    return { ...joined, ...(await certifyHost(control.fleetAuthority, asked, joined.host_id)) }
  })
  app.post(HOST_CERTIFICATE_PATH, async (request): Promise<SignedCertificate> => {
    refuseSpent(control, request)
    const { hostId, request: asked } = await verifyRenewal(control.fleetAuthority, bearerToken(request)).catch(
      (error: unknown) => {
        control.failures.note(request.ip)
        throw error
      },
    )
    const [known] = await joinedHost(control.database.pool, hostId)
    if (known === undefined) throw new ApiError('invalidApiToken', { detail: 'the host has been removed' })
    return certifyHost(control.fleetAuthority, asked, hostId)
  })
  app.get(HOST_VERSION_PATH, async (): Promise<TrustVersion> => ({
    version: (await control.fleetAuthority.version()) ?? 0,
  }))
}

function refuseSpent({ failures }: OrgsContext, { ip }: FastifyRequest): void {
  if (failures.isSpent(ip)) throw new ApiError('tooManyFailures')
}

async function admit(
  { fleetSeal }: OrgsContext,
  client: pg.ClientBase,
  { ip, id: requestId }: FastifyRequest,
  hostId: string,
  { url, labels, zone }: Omit<z.output<typeof joinBody>, 'request' | 'host_id'>,
  isKnown: boolean,
): Promise<void> {
  const [secret, edgeSecret] = [fleetSeal.close(makeSecret()), fleetSeal.close(makeSecret())]
  // A host that joins again keeps its row.
  if (!isKnown)
    await insertJoinedHost(client, hostId, url, secret, edgeSecret, JSON.stringify(labels ?? {}), zone ?? null)
  const actor = serviceActor(requestId, ip)
  const event = {
    workspaceId: null,
    action: 'host.joined',
    target: hostId,
    details: { url, ...(isKnown && { again: true }), ...(labels && { labels }), ...(zone !== undefined && { zone }) },
  } as const
  await recordAuditEvent(client, actor, event)
}

/** @throws ApiError 401 if the host has been removed since it joined */
async function secretsOf({ fleetSeal }: OrgsContext, client: pg.ClientBase, hostId: string) {
  const [row] = await joinedHost(client, hostId)
  if (row === undefined) throw new ApiError('invalidApiToken', { detail: 'the host has been removed' })
  return { host_id: hostId, secret: fleetSeal.open(row.secret), edge_secret: fleetSeal.open(row.edge_secret) }
}
