import { z } from 'zod'

/**
 * Answer of the agent's `GET /v1/sandboxes/{id}/archive`: the files that the agent has archived from a durable sandbox.
 * A read neither wakes the sandbox nor counts as activity.
 */
export const agentArchive = z.object({
  files: z.int(),
  /** Bytes on the agent's disk. */
  bytes: z.int(),
  /** When the agent archived the last file, RFC 3339; `null` if it has archived none. */
  last_at: z.string().nullable(),
  /** When the archive last lost a file, RFC 3339; `null` if the archive is complete. */
  gap_at: z.string().nullable(),
  /** Why the last attempt failed; `null` if it succeeded. */
  error: z.string().nullable(),
  /** What the object store does not have yet; `null` without an object store. */
  objects: z
    .object({
      waiting_bytes: z.int(),
      /** Since the agent archived the oldest file that waits; 0 if none does. */
      waiting_seconds: z.number(),
      /** Why the last upload of this archive failed; `null` if it succeeded. */
      error: z.string().nullable(),
    })
    .nullable()
    .default(null),
})
export type AgentArchive = z.infer<typeof agentArchive>

/**
 * Body of the agent's `POST /v1/sandboxes/{id}/archive/take` → 200 {@link agentArchive}. The agent wakes the sandbox
 * and answers when it has archived the file `name`; 409 after too long a wait.
 */
export const takeArchiveBody = z.object({ name: z.string().max(64) })

/**
 * Body of the agent's `POST /v1/sandboxes/{id}/archive/prune` → 204. The agent deletes files archived before that time.
 */
export const pruneArchiveBody = z.object({ before: z.iso.datetime() })

/**
 * Body of the agent's `POST /v1/sandboxes/{id}/archive/feed`. Until the caller hangs up, the agent serves files from
 * the archive of sandbox `from` to this sandbox, which is in recovery. Both belong to the same workspace.
 */
export const feedArchiveBody = z.object({ from: z.uuid() })

/** A file of an archive. The agent chooses among names of PostgreSQL's form, and the marker of a gap. */
const archivedFile = z.object({
  name: z.string().regex(/^[0-9A-Za-z.]{1,64}$/),
  /** Bytes of its compressed content. */
  bytes: z.int(),
  /** When it was archived, RFC 3339. */
  taken_at: z.iso.datetime(),
})
export type ArchivedFile = z.infer<typeof archivedFile>

/** Query of the agent's `GET /v1/sandboxes/{id}/archive/files` → 200 {@link archivedFiles}. @see archivedFiles */
export const archivedFilesQuery = z.object({ after: z.string().max(64).optional() })

/**
 * Files of an archive, up to {@link MAX_LISTED_FILES}, in the order in which they came. `after` the `cursor` of an answer
 * come those that are newer. An unknown cursor, such as one from before a restart of the agent, begins with the first
 * file. The list is complete when it has no file.
 */
export const archivedFiles = z.object({ cursor: z.string().max(64), files: z.array(archivedFile) })
export type ArchivedFiles = z.infer<typeof archivedFiles>

export const MAX_LISTED_FILES = 1000

/**
 * Query of the agent's `PUT /v1/sandboxes/{id}/archive/files/{name}`: puts a file of another host's archive into this
 * one. The body is the answer of `GET` of the same path: the compressed file. 204, also if it is repeated; 409 if the
 * archive has another file of that name, or the sandbox is none whose disk is archived; 507 if there is no room.
 */
export const putArchivedQuery = z.object({ taken_at: z.iso.datetime() })

/** The most bytes of a compressed file. */
export const MAX_ARCHIVED_BYTES = 17 * 1024 * 1024
