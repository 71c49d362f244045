import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '@offshoot/contract/errors'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { followPullRequest } from './follow-pull-request.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { queueIn } from '../deployments/queue-deployment.ts'
import type { AppId } from '@offshoot/contract/ids'
import { appsOfPush, forgetInstallation, insertDelivery } from './git-provider-statements.ts'
import { providerOf } from './provider-of.ts'
import { pullRequestEvent } from './pull-request-event.ts'
import { isDeployed, pushEvent } from './push-event.ts'

/** Bytes; the provider sends 25 MiB at most. */
const BODY_LIMIT_BYTES = 26 * 1024 * 1024
/** Bodies up to this number of bytes are not limited further. Most events have some tens of KiB. */
const SMALL_BODY_BYTES = 1024 * 1024
/**
 * Concurrent larger bodies, per address and in total. Control must hold each body in memory before it can verify the
 * signature.
 */
const LARGE_OF_ADDRESS = 4
const LARGE_AT_ONCE = 8
const SIGNATURE = /^sha256=[\da-f]{64}$/

const installationEvent = z.object({ action: z.string(), installation: z.object({ id: z.int() }) })

/**
 * `POST /v1/webhooks/…`: handles the provider's events. A push to an app's branch deploys exactly the pushed commit. A
 * pull request gets a preview if the app has previews enabled, which is removed when the pull request is closed. The
 * delivery's id is stored in the same transaction, so a redelivery has no effect.
 */
export function postGitWebhook(app: FastifyInstance, control: AppsContext, path: string): void {
  const largeBodies = new FairLimit(LARGE_OF_ADDRESS, LARGE_AT_ONCE)
  app.post(path, {
    bodyLimit: BODY_LIMIT_BYTES,
    // Checked before the body is read, so that an unsigned request costs nothing.
    onRequest: async ({ headers, ip }, { raw }) => {
      providerOf(control)
      if (!SIGNATURE.test(signatureOf(headers))) throw new ApiError('invalidSignature')
      if (Number(headers['content-length'] ?? BODY_LIMIT_BYTES) <= SMALL_BODY_BYTES) return
      const release = largeBodies.take(ip)
      if (release === null) throw new ApiError('rateLimited', { error: 'too many large events at the same time' })
      raw.once('close', release)
    },
    config: {
      docs: {
        summary: 'Take an event of the git provider, signed by it',
        tag: 'Git provider',
        status: 200,
        answer: z.object({ ok: z.literal(true) }),
        errors: ['invalidJson', 'invalidSignature', 'rateLimited', 'gitProviderUnconfigured'],
      },
    },
    handler: async (request) => {
      const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      if (!isSigned(request, raw, providerOf(control).webhookSecret)) throw new ApiError('invalidSignature')
      await act(control, request, parse(raw))
      return { ok: true }
    },
  })
}

/** Verifies the raw bytes, in constant time. */
function isSigned({ headers }: FastifyRequest, raw: Buffer, secret: string): boolean {
  const right = Buffer.from(`sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`)
  const signature = Buffer.from(signatureOf(headers))
  return signature.length === right.length && timingSafeEqual(signature, right)
}

function signatureOf({ 'x-hub-signature-256': given }: IncomingHttpHeaders): string {
  return typeof given === 'string' ? given : ''
}

function parse(raw: Buffer): object {
  let value: unknown
  try {
    value = JSON.parse(raw.toString())
  } catch (error) {
    throw new ApiError('invalidJson', {}, { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ApiError('invalidJson')
  return value
}

async function act(control: AppsContext, { headers }: FastifyRequest, body: unknown): Promise<void> {
  const delivery = headers['x-github-delivery']
  const event = headers['x-github-event']
  await transaction(control.database.pool, async (client) => {
    if (typeof delivery === 'string') {
      const [fresh] = await insertDelivery(client, delivery.slice(0, 200))
      if (fresh === undefined) return
    }
    const gone = event === 'installation' ? installationEvent.safeParse(body).data : undefined
    if (gone?.action === 'deleted') await forgetInstallation(client, gone.installation.id)
    const pull = event === 'pull_request' ? pullRequestEvent.safeParse(body).data : undefined
    if (pull !== undefined) await followPullRequest(client, pull)
    const push = event === 'push' ? pushEvent.safeParse(body).data : undefined
    if (push === undefined || !push.ref.startsWith('refs/heads/') || push.deleted) return
    const branch = push.ref.slice('refs/heads/'.length)
    for (const each of await appsOfPush(client, push.installation.id, branch)) {
      if (!isDeployed(push, each)) continue
      const { id, port } = each
      await queueIn(client, { id: id as AppId, port }, { gitRef: branch, gitCommit: push.after, originId: null })
    }
  })
  control.deployer.soon()
}
