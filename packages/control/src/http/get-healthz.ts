import { Deadline } from '@offshoot/kit/deadline'
import type { FastifyInstance } from 'fastify'
import type { Control } from '../control.ts'

/** Milliseconds the database may take to say it is there. */
const DATABASE_TIMEOUT_MS = 2_000

/**
 * `GET /healthz`: 200 while the database can be reached, whatever the agents do (a control plane without nodes is up);
 * 503 otherwise. Says of each agent what it runs on, because isolation differs with it.
 */
export function getHealthz(app: FastifyInstance, control: Control): void {
  app.get('/healthz', async (_request, reply) => {
    const database = await isReachable(control)
    const { agents } = control.fleet
    const reachable = agents.filter((agent) => agent.isReachable).length
    reply.code(database ? 200 : 503)
    return {
      status: database ? 'ok' : 'unavailable',
      checks: {
        database: database ? 'ok' : 'unreachable',
        agents: reachable === agents.length && reachable > 0 ? 'ok' : reachable > 0 ? 'degraded' : 'unreachable',
      },
      agents: agents.map(({ info, isReachable }) => ({
        id: info?.agent_id ?? null,
        status: isReachable ? 'ok' : 'unreachable',
        accelerator: info?.accelerator ?? null,
        isolation: info?.isolation ?? null,
        sandboxes: info?.sandboxes ?? null,
      })),
    }
  })
}

async function isReachable({ database, log }: Control): Promise<boolean> {
  try {
    await Deadline.after(DATABASE_TIMEOUT_MS, 'the database').race(database.pool.query('select 1'))
    return true
  } catch (error) {
    log.warn({ err: error }, 'database not reachable')
    return false
  }
}
