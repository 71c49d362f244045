import { z } from 'zod'

/**
 * Schemas of the agent's routes that move a hibernated sandbox to another host (docs/internal-api.md, "Move"). Control
 * chooses the `move_id`, asks both hosts, and decides by its own rows which of them has the sandbox.
 */

/** SHA-256 over the content of all files of a bake, in hexadecimal: its name on every host. */
export const bakeHash = z.string().regex(/^[0-9a-f]{64}$/)

/** Body of the agent's `POST /v1/sandboxes/{id}/leave` → 200 {@link agentLeave}. */
export const leaveBody = z.object({ move_id: z.uuid() })

/**
 * What moves. The agent refuses with 409 and a `detail` what cannot move. Repeating the request with the same `move_id`
 * has the same answer.
 */
export const agentLeave = z.object({
  move_id: z.uuid(),
  /** The most bytes that the other host writes to its disk for the sandbox, without its bake. */
  bytes: z.int(),
  bake: z.object({ hash: bakeHash, bytes: z.int() }),
})
export type AgentLeave = z.infer<typeof agentLeave>

/** Answer of the agent's `GET /v1/bakes`: the bakes that this host can name in `have` of an export to it. */
export const agentBakes = z.object({ hashes: z.array(bakeHash) })
export type AgentBakes = z.infer<typeof agentBakes>

/**
 * Query of the agent's `GET /v1/sandboxes/{id}/export` → 200 `application/octet-stream`. The stream lacks the bake if
 * `have` names it. `have` may occur several times. With `only=bake`, the stream has the files of the bake alone.
 */
export const exportQuery = z.object({
  move_id: z.uuid(),
  have: z
    .union([bakeHash.transform((hash) => [hash]), z.array(bakeHash).max(1000)])
    .optional()
    .transform((hashes) => hashes ?? []),
  only: z.literal('bake').optional(),
})

/**
 * Answer of the agent's `GET /v1/snapshots/{id}/content`: what an export of the snapshot has. Earlier agents answer 404
 * without {@link NO_SNAPSHOT}.
 */
export const agentSnapshotContent = z.object({
  /** The most bytes that another host writes to its disk for the snapshot, without its bake. */
  bytes: z.int(),
  bake: z.object({ hash: bakeHash, bytes: z.int() }),
  /** Whether this host has its memory, or only its disk. */
  has_memory: z.boolean(),
})
export type AgentSnapshotContent = z.infer<typeof agentSnapshotContent>

/** Detail of a 404: this host does not have the snapshot. */
export const NO_SNAPSHOT = 'no such snapshot on this agent'

/**
 * Query of the agent's `GET /v1/snapshots/{id}/export` → 200 `application/octet-stream`, as for sandboxes. The snapshot
 * does not change. With `memory=none`, the stream lacks its memory: only for snapshots of databases, whose disk can be
 * booted. The agent's `PUT /v1/snapshots/{id}/import` reads the stream, and answers 200 with the snapshot, also if it is
 * there already. It refuses the same as the import of a sandbox.
 */
export const snapshotExportQuery = exportQuery.omit({ move_id: true }).extend({ memory: z.literal('none').optional() })

/**
 * Answer of the agent's `GET /v1/templates/{id}/content`. Earlier agents answer 404 without {@link NO_TEMPLATE}. `export`
 * and `import` work as those of snapshots. The import answers 200 with the id when the host has baked the
 * template; 500 with a `detail` if that fails.
 */
export const agentTemplateContent = agentSnapshotContent.extend({
  /** `null` for a template without memory, which each host bakes by itself. */
  bake: z.object({ hash: bakeHash, bytes: z.int() }).nullable(),
})
export type AgentTemplateContent = z.infer<typeof agentTemplateContent>

/** Query of the agent's `GET /v1/templates/{id}/export`. Without memory, a template has no bake: `only` answers 400. */
export const templateExportQuery = exportQuery.omit({ move_id: true })

/** Detail of a 404: this host does not have the template. */
export const NO_TEMPLATE = 'no such template on this agent'

/** Header of the answer to an export with `only`, with the same value: earlier agents do not know it. */
export const ONLY_HEADER = 'x-offshoot-only'

/**
 * Query of the agent's `PUT /v1/sandboxes/{id}/import`, whose body is the stream of an export. The credential names the
 * workspace. Answers 200 with the sandbox when everything is on the disk; 400 if the stream is damaged; 409 with `detail`
 * {@link BAKE_MISSING} if the stream lacks the bake and this host does not have it (export again without `have`), and for
 * another move of the same sandbox; 507 if the disk has too little room.
 */
export const importQuery = z.object({ move_id: z.uuid() })

export const BAKE_MISSING = 'this host does not have the bake of the sandbox'

/**
 * Body of the agent's `POST /v1/sandboxes/{id}/settle` → 204, also if it is repeated.
 * - `stay`: the sandbox is an ordinary hibernated sandbox of this host. 404 if it is not here.
 * - `gone`: the host removes it. Its log of records does not say that the sandbox was deleted. 409 if it is not moving.
 * - `taken`: another host has brought the durable sandbox back after the lease here had ended. The host ends its VM and puts
 *   its folder into quarantine. 409 while the host has a lease, or needs none.
 */
export const settleBody = z.object({ move_id: z.uuid(), outcome: z.enum(['stay', 'gone', 'taken']) })
export type SettleOutcome = z.infer<typeof settleBody>['outcome']

/** Present while a sandbox moves. A host that it arrives at has announced nothing about it. */
export const agentMove = z.object({ id: z.uuid(), direction: z.enum(['leaving', 'arriving']) })
export type AgentMove = z.infer<typeof agentMove>
