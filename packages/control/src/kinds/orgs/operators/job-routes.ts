import { ApiError } from '@offshoot/contract/errors'
import { type OperatedJob, operatedJob, operatedJobsQuery } from '@offshoot/contract/operator'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, listPage } from '../../../platform/http/page-of.ts'
import {
  discardJob,
  findJob,
  JOB_ORDER,
  type OperatedJobRow,
  retryJob,
  SELECT_JOBS,
} from '../../../platform/jobs/operated-jobs.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

const TAG = 'Operators'
const JOB_ID = /^[1-9]\d{0,17}$/
const RUNNING = 'the job is running'

/** `GET /v1/admin/jobs`, `POST …/{id}/retry`, `DELETE …/{id}`: the jobs of all control processes (docs/jobs.md). */
export function jobRoutes(app: FastifyInstance, control: OrgsContext): void {
  const { database, log } = control
  const { pool } = database
  app.get('/v1/admin/jobs', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'List the jobs of control, newest first',
        tag: TAG,
        query: operatedJobsQuery,
        status: 200,
        answer: z.array(operatedJob),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<OperatedJob[]> => {
      const { limit = DEFAULT_LIST_LIMIT, ...query } = parseWith(operatedJobsQuery, request.query)
      const rows = await listPage(control, request, reply, {
        order: JOB_ORDER,
        owner: '',
        select: SELECT_JOBS,
        where: [...equals('task', query.task), ...equals('state', query.state), ...createdBetween('created_at', query)],
        query: { ...query, limit },
      })
      return rows.map(presentJob)
    },
  })
  app.post('/v1/admin/jobs/:id/retry', {
    config: {
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Run a job now, also one that has failed for good',
        tag: TAG,
        status: 204,
        errors: ['notFound', 'conflict'],
      },
    },
    handler: async (request, reply) => {
      const id = jobId(request)
      if ((await retryJob(pool, id)).length === 0) await refuseAbsentOrRunning(id)
      log.info({ job: id, req_id: request.id }, 'job retried by an operator')
      return reply.code(204).send()
    },
  })
  app.delete('/v1/admin/jobs/:id', {
    config: {
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Discard a job. One that is still necessary is added again within a minute',
        tag: TAG,
        status: 204,
        errors: ['notFound', 'conflict'],
      },
    },
    handler: async (request, reply) => {
      const id = jobId(request)
      if ((await discardJob(pool, id)).length === 0) await refuseAbsentOrRunning(id)
      log.info({ job: id, req_id: request.id }, 'job discarded by an operator')
      return reply.code(204).send()
    },
  })

  async function refuseAbsentOrRunning(id: string): Promise<never> {
    const [job] = await findJob(pool, id)
    throw job === undefined ? new ApiError('notFound') : new ApiError('conflict', { detail: RUNNING })
  }
}

function jobId({ params }: FastifyRequest): string {
  const { id } = params as { id: string }
  if (!JOB_ID.test(id)) throw new ApiError('notFound')
  return id
}

function presentJob({ job_id: id, run_at: runAt, created_at: createdAt, ...row }: OperatedJobRow): OperatedJob {
  return operatedJob.parse({ ...row, id, run_at: runAt.toISOString(), created_at: createdAt.toISOString() })
}
