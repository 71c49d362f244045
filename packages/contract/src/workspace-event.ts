import { z } from 'zod'
import { event, type EventCode, eventCode, type EventType } from './event.ts'

/** What an event of a workspace is about. `deploy`: a deployment of an app. */
export const eventObjectKind = z.enum(['sandbox', 'build', 'deploy', 'database'])
export type EventObjectKind = z.infer<typeof eventObjectKind>

/** Event types beside those of sandboxes, each with its code. Triggers in control's database make these events. */
const catalog = {
  'build.started': 'ok',
  'build.succeeded': 'ok',
  'build.failed': 'error',
  'deploy.queued': 'ok',
  'deploy.building': 'ok',
  'deploy.deploying': 'ok',
  'deploy.live': 'ok',
  'deploy.failed': 'error',
  'deploy.superseded': 'ok',
  'database.created': 'ok',
  'database.ready': 'ok',
  'database.deleted': 'ok',
  'database.backup_created': 'ok',
  'database.backup_verified': 'ok',
  'database.backup_failed': 'error',
} as const satisfies Record<string, EventCode>

type FurtherType = keyof typeof catalog
export type WorkspaceEventType = EventType | FurtherType

/** Every type of an event of a workspace. `events.dropped` exists only in the stream of one sandbox. */
export const workspaceEventTypes = [
  ...event.shape.type.options.filter((type) => type !== 'events.dropped'),
  ...(Object.keys(catalog) as FurtherType[]),
] as [WorkspaceEventType, ...WorkspaceEventType[]]

export function workspaceEventCode(type: WorkspaceEventType): EventCode {
  return type in catalog ? catalog[type as FurtherType] : eventCode(type as EventType)
}

/** One change of a sandbox, a template build, a deployment or a database of a workspace. */
export const workspaceEvent = z.object({
  /** Position in the workspace's events in the order of their arrival. Clients compare ids only for equality. */
  id: z.string(),
  /** When it happened: RFC 3339, UTC, milliseconds. An agent that was away reports older events late. */
  ts: z.string(),
  type: z.enum(workspaceEventTypes),
  code: event.shape.code,
  message: z.string(),
  /** The id of a sandbox, build, deployment or database. */
  object: z.object({ kind: eventObjectKind, id: z.string() }),
  /** The sandbox of an event about one; `null` for others. */
  sandbox_id: z.string().nullable(),
  /** The agent that reported the event; `null` if control did. */
  agent_id: z.string().nullable(),
  /** Keys depend on the type, and may grow. */
  metadata: z.record(z.string(), z.unknown()),
})
export type WorkspaceEvent = z.infer<typeof workspaceEvent>

/** What may stand where a type is asked for: a type, all types of one group such as `deploy.*`, or `*`. */
export const eventPatterns: readonly string[] = [
  '*',
  ...new Set(workspaceEventTypes.map((type) => `${type.split('.', 1)[0]}.*`)),
  ...workspaceEventTypes,
]
