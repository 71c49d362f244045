import { ApiError } from '@offshoot/contract/errors'
import { gitCallbackQuery } from '@offshoot/contract/git-provider'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from '../model/apps-context.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { bindInstallation, takeConnect } from './git-provider-statements.ts'
import { providerOf } from './provider-of.ts'

/** Milliseconds by which the provider's clock may be behind control's. */
const CLOCK_MS = 5 * 60_000

/**
 * `GET callback`: the provider redirects a browser here. The state identifies the user's connect request and is valid
 * once. Anybody can put the number of another installation into the address. So the installation must have been created
 * or changed after the connect request began, and must not belong to another workspace.
 */
export function getCallback(app: FastifyInstance, control: AppsContext, base: string): void {
  app.get(`${base}/callback`, {
    config: {
      docs: {
        summary: 'Record an installation of the git provider’s app, and go on to the service’s own page',
        tag: 'Git provider',
        query: gitCallbackQuery,
        status: 200,
        errors: ['invalidField', 'conflict', 'gitProvider', 'gitProviderUnconfigured'],
      },
    },
    handler: async (request, reply) => {
      const provider = providerOf(control)
      const { installation_id: text, state } = parseWith(gitCallbackQuery, request.query)
      const { pool } = control.database
      const [connect] = await takeConnect(pool, state)
      if (connect === undefined) throw new ApiError('invalidField', { error: 'state is unknown, used or too old' })
      const id = Number(text)
      const found = await provider.installation(id)
      const changedAtMs = Math.max(Date.parse(found?.created_at ?? ''), Date.parse(found?.updated_at ?? ''))
      if (found === null || !(changedAtMs >= connect.created_at.getTime() - CLOCK_MS)) {
        throw new ApiError('invalidField', { error: 'installation_id is none of this connect' })
      }
      const { login, type } = found.account
      const [bound] = await bindInstallation(pool, id, connect.workspace_id, login, type)
      if (bound === undefined) throw new ApiError('conflict', { detail: 'the installation is another workspace’s' })
      return reply.redirect(control.config.public_url, 302)
    },
  })
}
