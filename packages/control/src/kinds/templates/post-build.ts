import { build, buildFields } from '@offshoot/contract/build'
import type { FastifyInstance } from 'fastify'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { hangUpSignal } from '../../platform/http/hang-up.ts'
import { streamedBody } from '../../fleet/proxy/proxy.ts'
import { refuseAccount } from '../billing/limits/refuse-account.ts'
import { beginBuild, refuseTaken } from './begin-build.ts'
import { presentBuild } from './build-row.ts'
import { BuildUpload } from './build-upload.ts'
import { receiveBuild } from './receive-build.ts'

/** `POST /v1/templates/build`: answers 202 once the agent has the archive and has queued the build. */
export async function postBuild(app: FastifyInstance, control: BillingContext): Promise<void> {
  // A Fastify scope of its own, because in it bodies stay streams.
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (request, payload, done) => done(null, streamedBody(request, payload)))
    scope.post('/v1/templates/build', {
      config: {
        credential: 'key-or-jwt',
        docs: {
          summary: 'Build a template from an archive: tar, tar.gz, docker save or an OCI layout',
          tag: 'Templates',
          query: buildFields,
          bodyType: 'multipart/form-data',
          status: 202,
          answer: build,
          errors: [
            'invalidField',
            'invalidJson',
            'templateExists',
            'tooManyBuilds',
            'noComputeNode',
            'agentUnreachable',
            'templateStorage',
            'freeQuotaExceeded',
            'subscriptionNotActive',
          ],
        },
      },
      handler: async (request, reply) => {
        const { workspaceId } = callerOf(request)
        await refuseAccount(control, workspaceId)
        const upload = new BuildUpload(control, workspaceId, request.id, hangUpSignal(request, reply))
        try {
          const fields = await receiveBuild(request, upload, (known) => refuseTaken(control, workspaceId, known))
          return await reply.code(202).send(presentBuild(await beginBuild(control, fields, upload)))
        } catch (error) {
          await upload.drop(control)
          throw error
        }
      },
    })
  })
}
