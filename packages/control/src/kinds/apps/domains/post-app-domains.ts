import { randomBytes } from 'node:crypto'
import { appDomain, MAX_APP_DOMAINS, type PostAppDomainBody, postAppDomainBody } from '@offshoot/contract/app-domain'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { certificateOf, giveCertificate, orderSooner } from '../certificates/certificate-statements.ts'
import { type GivenCertificate, givenCertificate } from '../certificates/given-certificate.ts'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseBody } from '../../../platform/http/body.ts'
import { type AppDomainRow, presentAppDomain } from './app-domain-row.ts'
import { domainOfApp, insertDomain, lockAppForDomains } from './app-domain-statements.ts'
import { verifyDomain } from './verify-domain.ts'

const TOKEN_BYTES = 20

/**
 * `POST /v1/apps/{id}/domains`: answers with the DNS record that the owner must create. Repeating the request verifies
 * the record; then the app is served at the domain. Optionally uploads a certificate for the domain, at any time.
 */
export function postAppDomains(app: FastifyInstance, control: AppsContext): void {
  app.post('/v1/apps/:id/domains', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Serve an app at a domain of one’s own, or look for its DNS record again',
        tag: 'Apps',
        body: postAppDomainBody,
        status: 201,
        answer: appDomain,
        errors: ['invalidField', 'notFound', 'tooManyDomains'],
      },
    },
    handler: async (request, reply) => {
      const { id } = await findApp(control, request)
      const body = parseBody(request, postAppDomainBody)
      const { domain } = body
      refuseOurs(control, domain)
      const given = givenIn(body)
      const known = await wanted(control, id, domain)
      if (given === null) await orderSooner(control.database.pool, id, domain)
      else await give(control, id, domain, given)
      const row = await verifyDomain(control, id, known)
      if (row === null) throw new ApiError('notFound')
      const [certificate] = await certificateOf(control.database.pool, id, domain)
      return reply.code(201).send(presentAppDomain(row, certificate, control.config.preview))
    },
  })
}

/** @throws ApiError 400 */
function givenIn({ domain, certificate, private_key: key }: PostAppDomainBody): GivenCertificate | null {
  if (certificate === undefined && key === undefined) return null
  if (certificate === undefined) throw new ApiError('invalidField', { error: 'certificate required' })
  if (key === undefined) throw new ApiError('invalidField', { error: 'private_key required' })
  return givenCertificate(domain, certificate, key)
}

async function give(control: AppsContext, id: string, domain: string, given: GivenCertificate): Promise<void> {
  const { chain, key, fingerprint, endsAt } = given
  const sealed = control.certificateKeys.close(key)
  await giveCertificate(control.database.pool, id, domain, chain, sealed, fingerprint, endsAt)
}

/** Refuses domains below the service's own suffixes. */
function refuseOurs({ config: { preview, databases } }: AppsContext, domain: string): void {
  for (const suffix of [preview.suffix, databases.suffix]) {
    if (suffix !== null && (domain === suffix || domain.endsWith(`.${suffix}`)))
      throw new ApiError('invalidField', { error: `domain must not be below ${suffix}` })
  }
}

function wanted({ database }: AppsContext, appId: string, domain: string): Promise<AppDomainRow> {
  return transaction(database.pool, async (client) => {
    const [locked] = await lockAppForDomains(client, appId)
    if (locked === undefined) throw new ApiError('notFound')
    const [known] = await domainOfApp(client, appId, domain)
    if (known !== undefined) return known
    const [made] = await insertDomain(client, appId, domain, randomBytes(TOKEN_BYTES).toString('hex'))
    if (made === undefined) throw new ApiError('tooManyDomains', { max: MAX_APP_DOMAINS, active: MAX_APP_DOMAINS })
    return made
  })
}
