import type { AuditTargetKind } from '@offshoot/contract/audit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { actorOf } from '../audit/actor.ts'
import { noteOutcome, recordAuditEvent } from '../audit/audit-statements.ts'
import type { Database } from '../db/database.ts'

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
    /** Id or name of the object that the request made. */
    auditMade: string | null
  }
}

/** Characters that an entry keeps of a path's parameter and of a user agent. */
const MAX_TEXT = 256
/** Requests to the inside of a sandbox, which are too frequent for an entry each. */
const DATA_PLANE_TAGS: ReadonlySet<string> = new Set(['Code interpreter', 'Commands', 'Files'])
/** Statuses of answers with an object that the request made. */
const MADE: ReadonlySet<number> = new Set([201, 202])
/** What a path names, by the segment before the id. */
const KIND_OF_SEGMENT: Readonly<Record<string, AuditTargetKind>> = {
  apps: 'app',
  build: 'build',
  builds: 'build',
  databases: 'database',
  hosts: 'host',
  installations: 'installation',
  jobs: 'job',
  operators: 'operator',
  orgs: 'org',
  sandboxes: 'sandbox',
  snapshots: 'snapshot',
  templates: 'template',
  volumes: 'volume',
  webhooks: 'webhook',
}

/**
 * Writes an audit entry before the handler of each change and of each access to a secret, and its status after the
 * answer. An entry without status tells that the process died in between. If the entry cannot be written, the request
 * fails and changes nothing (docs/adr/0023-audit-of-requests.md).
 */
export function registerAudit(app: FastifyInstance, { database: { pool } }: { readonly database: Database }): void {
  app.decorateRequest('auditId', null)
  app.decorateRequest('auditMade', null)
  app.addHook('preHandler', async (request) => {
    const action = actionOf(request)
    if (action === null) return
    const { method, routeOptions, headers, admitted } = request
    const details = { method, route: routeOptions.url, user_agent: shown(headers['user-agent']) }
    const workspaceId = admitted === null ? null : (admitted.org?.id ?? admitted.caller.workspaceId)
    const event = {
      workspaceId,
      action,
      target: targetOf(request),
      targetKind: targetKindOf(routeOptions.url),
      details,
    }
    request.auditId = (await recordAuditEvent(pool, actorOf(request), event)) ?? null
  })
  app.addHook('preSerialization', async (request, { statusCode }, payload) => {
    if (request.auditId !== null && MADE.has(statusCode)) request.auditMade = madeBy(request, payload)
    return payload
  })
  app.addHook('onResponse', async ({ auditId, auditMade, log }, { statusCode }) => {
    if (auditId === null) return
    await noteOutcome(pool, auditId, statusCode, auditMade).catch((error: unknown) => {
      log.error({ err: error, audit_id: auditId }, 'the outcome of an audited request was not kept')
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

/** A path without an id, such as that of a create, ends with the kind. */
function targetKindOf(url = ''): AuditTargetKind | null {
  const before = (parameter: string) => new RegExp(`/(\\w+)/:${parameter}(?:/|$)`).exec(url)?.[1]
  return KIND_OF_SEGMENT[before('id') ?? before('name') ?? url.split('/').at(-1) ?? ''] ?? null
}

/** Only a create answers with an object of the kind that its path ends with. */
function madeBy({ routeOptions: { url } }: FastifyRequest, payload: unknown): string | null {
  if (targetKindOf(url) === null || typeof payload !== 'object' || payload === null) return null
  const { id, name } = payload as { readonly id?: unknown; readonly name?: unknown }
  const made = id ?? name
  return typeof made === 'string' ? made : null
}

/** Text of the caller, without the one character that PostgreSQL refuses. */
function shown(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll('\0', '').slice(0, MAX_TEXT)
}
