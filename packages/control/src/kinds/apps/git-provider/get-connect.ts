import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { AppsContext } from '../model/apps-context.ts'
import { callerOf } from '../../../platform/http/caller.ts'
import { insertConnect } from './git-provider-statements.ts'
import { providerOf } from './provider-of.ts'

/** `GET connect`: returns the address at which to install the provider's app for the caller's workspace. */
export function getConnect(app: FastifyInstance, control: AppsContext, base: string): void {
  app.get(`${base}/connect`, {
    config: {
      credential: 'key-or-jwt',
      scope: 'apps:write',
      docs: {
        summary: 'Begin to connect the git provider',
        tag: 'Git provider',
        status: 200,
        answer: z.object({ url: z.string() }),
        errors: ['gitProviderUnconfigured'],
      },
    },
    handler: async (request) => {
      const provider = providerOf(control)
      const state = randomBytes(24).toString('base64url')
      await insertConnect(control.database.pool, state, callerOf(request).workspaceId)
      return { url: provider.installUrl(state) }
    },
  })
}
