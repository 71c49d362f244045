import type { FastifyRequest } from 'fastify'
import type { AuditEntry } from '@offshoot/contract/audit'

/** The actor of an audit log entry. */
export interface Actor {
  readonly type: AuditEntry['actor']['type']
  readonly id: string | null
  readonly ip: string | null
  readonly requestId: string | null
}

/** What no caller has asked for. @param ip of a host that speaks for itself */
export function serviceActor(requestId: string, ip: string | null = null): Actor {
  return { type: 'service', id: null, ip, requestId }
}

export function actorOf(request: FastifyRequest): Actor {
  const from = { ip: request.ip, requestId: request.id }
  if (request.admitted === null) return { type: 'operator', id: request.operator?.id ?? null, ...from }
  const { caller } = request.admitted
  return { ...identityOf(caller), ...from }
}

export function identityOf(caller: NonNullable<FastifyRequest['admitted']>['caller']): Pick<Actor, 'type' | 'id'> {
  if (caller.method === 'key') return { type: 'key', id: caller.prefix }
  return caller.method === 'sandbox' ? { type: 'sandbox', id: caller.sandboxId } : { type: 'user', id: caller.user.id }
}
