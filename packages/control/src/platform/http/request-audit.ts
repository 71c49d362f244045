import type { FastifyInstance, FastifyRequest } from 'fastify'
import { actorOf } from '../audit/actor.ts'
import { noteStatus, recordDeed } from '../audit/audit-statements.ts'
import type { Platform } from '../platform.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `own`: the route records a more precise entry in the transaction of its change. `secret`: the answer of this GET
     * has a secret. Absent: a GET has no entry, and every other method has one.
     */
    readonly audit?: 'own' | 'secret'
  }
  interface FastifyRequest {
    auditId: string | null
  }
}

/** Characters that an entry keeps of a path's parameter and of a user agent. */
const MAX_TEXT = 256
/** Requests to the inside of a sandbox, which are too frequent for an entry each. */
const DATA_PLANE_TAGS: ReadonlySet<string> = new Set(['Commands', 'Files'])

/**
 * Writes an audit entry before the handler of each change and of each access to a secret, and its status after the
 * answer. An entry without status tells that the process died in between. If the entry cannot be written, the request
 * fails and changes nothing (docs/adr/0023-audit-of-requests.md).
 */
export function registerAudit(app: FastifyInstance, { database: { pool } }: Platform): void {
  app.decorateRequest('auditId', null)
  app.addHook('preHandler', async (request) => {
    const action = actionOf(request)
    if (action === null) return
    const { method, routeOptions, headers, admitted } = request
    const details = { method, route: routeOptions.url, user_agent: shown(headers['user-agent']) }
    const workspaceId = admitted === null ? null : (admitted.org?.id ?? admitted.caller.workspaceId)
    const deed = { workspaceId, action, target: targetOf(request), details }
    request.auditId = (await recordDeed(pool, actorOf(request), deed)) ?? null
  })
  app.addHook('onResponse', async ({ auditId, log }, { statusCode }) => {
    if (auditId === null) return
    await noteStatus(pool, auditId, statusCode).catch((error: unknown) => {
      log.error({ err: error, audit_id: auditId }, 'the status of an audited request was not kept')
    })
  })
}

function actionOf({ method, routeOptions: { config } }: FastifyRequest): 'request.made' | 'secret.read' | null {
  const { audit, credential, docs } = config
  if (audit === 'own' || credential === undefined || credential === 'broker') return null
  if (method === 'GET') return audit === 'secret' ? 'secret.read' : null
  if (method === 'HEAD' || DATA_PLANE_TAGS.has(docs?.tag ?? '')) return null
  return 'request.made'
}

function targetOf({ params }: FastifyRequest): string | null {
  const { id, name } = params as { readonly id?: string; readonly name?: string }
  return shown(id ?? name)
}

/** Text of the caller, without the one character that PostgreSQL refuses. */
function shown(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll('\0', '').slice(0, MAX_TEXT)
}
