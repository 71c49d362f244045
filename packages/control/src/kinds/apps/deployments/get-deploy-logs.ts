import { logsFollowQuery } from '@offshoot/contract/deployment'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from '../model/apps-context.ts'
import { parseWith } from '../../../platform/http/body.ts'
import type { DeploymentRow } from '../model/deployment-row.ts'
import { deploymentOfApp } from '../model/deployment-statements.ts'
import { findDeployment } from './find-deployment.ts'
import { sendLines, type SentLines, wantsEventStream } from './line-stream.ts'
import { readBuildLog, wholeBuildLog } from './read-build-log.ts'

const OVER: ReadonlySet<DeploymentRow['status']> = new Set(['live', 'failed', 'superseded'])

/** `GET /v1/apps/{id}/deploys/{deployment_id}/logs`: as text, or as a stream until the deployment has ended. */
export function getDeployLogs(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/deploys/:deployment_id/logs', {
    config: {
      credential: 'key-or-jwt',
      takesQueryToken: true,
      docs: {
        summary: 'Read the log of a build as text, or follow it (server-sent events, the last one named done)',
        tag: 'Apps',
        query: logsFollowQuery,
        status: 200,
        mediaType: 'text/plain',
        also: [{ status: 200, mediaType: 'text/event-stream' }],
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const row = await findDeployment(control, request)
      const { follow } = parseWith(logsFollowQuery, request.query)
      const { pool } = control.database
      if (!follow && !wantsEventStream(request)) {
        return reply.type('text/plain; charset=utf-8').send(await wholeBuildLog(pool, row.id))
      }
      return sendLines(request, reply, control.openStreams, (after) => pieces(control, row, after))
    },
  })
}

/** The lines written so far. Reads the deployment before its log: if the deployment has ended, the log is complete. */
async function pieces({ database: { pool } }: AppsContext, row: DeploymentRow, after: string): Promise<SentLines> {
  const [now] = await deploymentOfApp(pool, row.id, row.app_id)
  const lines: { id: string; text: string }[] = []
  const last = /^\d{1,18}$/.test(after) ? after : '0'
  for await (const { number, text } of readBuildLog(pool, row.id, last)) lines.push({ id: number, text })
  return { lines, isOver: now === undefined || OVER.has(now.status) }
}
