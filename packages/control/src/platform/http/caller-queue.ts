import { createHash } from 'node:crypto'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { FastifyInstance } from 'fastify'
import { FairQueue } from '../db/fair-queue.ts'

/** Requests of one caller that control works on at the same time. */
const PER_CALLER = 4
/** Requests of all callers. A caller may have fewer than {@link PER_CALLER} if many callers are waiting. */
const TOTAL = 64
/** Milliseconds after which a request no longer counts: it waits for a guest, for its body or for the next event. */
const WORK_MS = 20
/** Milliseconds for which a request counts after a 429, so that a flood of refusals costs little CPU time. */
const REFUSED_MS = 50
/** Milliseconds that a request waits for its turn. */
const PATIENCE_MS = 30_000
/** Credentials whose tenant is remembered. */
const MAX_REMEMBERED = 10_000

/**
 * Lets the requests of one caller wait for one another before control works on them. Otherwise a thousand requests at
 * once delay the requests of others by the time that a thousand answers take, even if these are refusals.
 *
 * The caller is the tenant to whom the credential belonged when it was last accepted; before that, the address.
 */
export function registerCallerQueue(app: FastifyInstance): void {
  const queue = new FairQueue(new FairLimit(PER_CALLER, TOTAL), PATIENCE_MS)
  const tenants = new Map<string, string>()
  app.addHook('onRequest', async ({ headers, ip }, reply) => {
    const release = await queue.wait(tenants.get(digest(headers.authorization)) ?? ip)
    const timer = setTimeout(release, WORK_MS)
    reply.raw.once('close', () => {
      clearTimeout(timer)
      if (reply.statusCode === 429) setTimeout(release, REFUSED_MS)
      else release()
    })
  })
  // All of onRequest is over, so the credential was accepted.
  app.addHook('preParsing', async ({ headers, tenancy }) => {
    const tenant = tenancy?.tenant ?? null
    if (tenant === null || headers.authorization === undefined) return
    const credential = digest(headers.authorization)
    tenants.delete(credential)
    tenants.set(credential, tenant)
    if (tenants.size > MAX_REMEMBERED) tenants.delete(tenants.keys().next().value ?? credential)
  })
}

function digest(credential = ''): string {
  return createHash('sha256').update(credential).digest('base64')
}
