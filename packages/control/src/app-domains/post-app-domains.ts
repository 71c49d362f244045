import { randomBytes } from 'node:crypto'
import { appDomain, appDomainBody, MAX_APP_DOMAINS } from '@offshoot/contract/app-domain'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { findApp } from '../apps/find-app.ts'
import type { Control } from '../control.ts'
import { transaction } from '../db/transaction.ts'
import { parseBody } from '../http/body.ts'
import { type AppDomainRow, presentAppDomain } from './app-domain-row.ts'
import { domainOfApp, insertDomain, lockAppForDomains } from './app-domain-statements.ts'
import { verifyDomain } from './verify-domain.ts'

const TOKEN_BYTES = 20

/** `POST /v1/apps/{id}/domains`: what the DNS must say. Again once it does: then the app is served there. */
export function postAppDomains(app: FastifyInstance, control: Control): void {
  app.post('/v1/apps/:id/domains', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Serve an app at a domain of one’s own, or look for its DNS record again',
        tag: 'Apps',
        body: appDomainBody,
        status: 201,
        answer: appDomain,
        errors: ['invalidField', 'notFound', 'tooManyDomains'],
      },
    },
    handler: async (request, reply) => {
      const { id } = await findApp(control, request)
      const { domain } = parseBody(request, appDomainBody)
      refuseOurs(control, domain)
      const row = await verifyDomain(control, id, await wanted(control, id, domain))
      if (row === null) throw new ApiError('notFound')
      return reply.code(201).send(presentAppDomain(row, control.config.preview))
    },
  })
}

/** What is below our own suffixes is not for apps to have. */
function refuseOurs({ config: { preview, databases } }: Control, domain: string): void {
  for (const suffix of [preview.suffix, databases.suffix]) {
    if (suffix !== null && (domain === suffix || domain.endsWith(`.${suffix}`)))
      throw new ApiError('invalidField', { error: `domain must not be below ${suffix}` })
  }
}

function wanted({ database }: Control, appId: string, domain: string): Promise<AppDomainRow> {
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
