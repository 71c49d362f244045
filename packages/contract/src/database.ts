import { z } from 'zod'
import { flag, integer, optional, text } from './fields.ts'
import { createdQuery, once } from './page.ts'
import { queryOneOf } from './query-fields.ts'

/** Memory of a database. Cannot be changed. */
export const DATABASE_SIZES = ['1g', '4g', '16g'] as const
export type DatabaseSize = (typeof DATABASE_SIZES)[number]

/** The template of each size. All use the same image. */
export const DATABASE_TEMPLATES: Record<DatabaseSize, string> = {
  '1g': 'postgres-16',
  '4g': 'postgres-16-4g',
  '16g': 'postgres-16-16g',
}

/** Seconds without a connection after which a database hibernates. */
export const DEFAULT_DATABASE_IDLE_SECONDS = 300
/**
 * MiB of a new database's file system, and its maximum. Every database has a device of the maximum size
 * (templates/postgres-16).
 */
export const DEFAULT_DATABASE_DISK_MB = 8192
const MAX_DATABASE_DISK_MB = 65_536
const MAX_IDLE_SECONDS = 31 * 24 * 3600

/** The initial database. Its owner may create others. */
export const DATABASE_NAME = 'app'

/** Where PostgreSQL listens in the guest, on 127.0.0.1. */
export const DATABASE_PORT = 5432

/**
 * The role that owns a database. The edge routes connections by it, because the startup packet holds no other field
 * that Offshoot chooses. @param id UUID of the database, the same as its sandbox's
 */
export function databaseUser(id: string): string {
  return `db_${id.replaceAll('-', '')}`
}

const USER = /^db_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

/** The database id in a role name; `null` if it is no such name. */
export function databaseOfUser(user: string): string | null {
  const parts = USER.exec(user)
  return parts === null ? null : parts.slice(1).join('-')
}

const label = text('label', 128)

/** Body of `POST /v1/databases`. */
export const createDatabaseBody = z.object({
  /** For display; need not be unique. */
  label: optional(label),
  /** Default `1g`. */
  size: optional(z.enum(DATABASE_SIZES, { error: `size must be one of ${DATABASE_SIZES.join(', ')}` })),
})
export type CreateDatabaseBody = z.infer<typeof createDatabaseBody>

/** Body of `PATCH /v1/databases/{id}`. */
export const patchDatabaseBody = z.object({
  label: optional(label),
  /** Seconds without a connection before it hibernates: 60 to 2678400, default 300. */
  idle_timeout_seconds: optional(integer('idle_timeout_seconds', 60, MAX_IDLE_SECONDS)),
  /** If true, the database never hibernates. */
  always_on: optional(flag('always_on')),
  /** MiB of its file system, 8192 to 65536. It can only grow. */
  disk_mb: optional(integer('disk_mb', DEFAULT_DATABASE_DISK_MB, MAX_DATABASE_DISK_MB)),
})
export type DatabasePatch = z.infer<typeof patchDatabaseBody>

/** Body of `POST /v1/databases/{id}/branch`. */
export const branchDatabaseBody = z.object({
  label: optional(label),
  /** Id of a backup of this database. Default: its present state. */
  at: optional(text('at', 64)),
})

/** Body of `POST /v1/databases/{id}/restore`. */
export const restoreDatabaseBody = z.object({
  label: optional(label),
  /**
   * Restore to this moment: RFC 3339 with a time zone, precise to the millisecond. Not before the oldest backup, and
   * not in the future.
   */
  time: z.iso.datetime({
    offset: true,
    error: ({ input }) =>
      input === undefined || input === null ? 'time required' : 'time must be an RFC 3339 time with a time zone',
  }),
})

/** Backups kept per database. The oldest are deleted first. */
export const KEPT_BACKUPS = 7

/** A backup of a database. */
export const databaseBackup = z.object({
  /** UUID, the same as its snapshot's. */
  id: z.string(),
  database_id: z.string(),
  /** `daily`: made by the schedule. `request`: made by a user. */
  origin: z.enum(['request', 'daily']),
  /** Bytes that only this backup uses. */
  size_bytes: z.number(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** Result of a trial restore in the background, which checks every table and index. */
  verified: z.enum(['pending', 'ok', 'failed']),
  /** RFC 3339: when the trial restore ended. */
  verified_at: z.string().nullable(),
  /** Why the trial restore failed. */
  verify_error: z.string().nullable(),
})
export type DatabaseBackup = z.infer<typeof databaseBackup>

/** `provisioning` until PostgreSQL accepts connections. A `hibernated` database wakes at the next connection. */
export const databaseStatus = z.enum(['provisioning', 'running', 'hibernated', 'failed'])
export type DatabaseStatus = z.infer<typeof databaseStatus>

/** A database in a list, without credentials. */
export const databaseSummary = z.object({
  /** UUID. */
  id: z.string(),
  label: z.string().nullable(),
  size: z.enum(DATABASE_SIZES),
  status: databaseStatus,
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** Id of the database that this one was branched or restored from, which may be deleted since. */
  parent_id: z.string().nullable(),
})
export type DatabaseSummary = z.infer<typeof databaseSummary>

/** The credentials and addresses of a database. */
export const databaseConnection = z.object({
  /** `postgresql://…?sslmode=require`, with the password. */
  connection_url: z.string(),
  /** Base address of the SQL-over-HTTP broker. */
  broker_url: z.string(),
  /** `ofs_pg_…`. Grants access to the broker of this database only. */
  broker_token: z.string(),
})

/** A database read by its id, with its credentials. Answer of `POST /v1/databases` and `GET /v1/databases/{id}`. */
export const database = databaseSummary.extend({
  ...databaseConnection.shape,
  host: z.string(),
  port: z.int(),
  database: z.string(),
  username: z.string(),
  password: z.string(),
  /** vCPUs of the VM: 8 if the host's accelerator allows it. */
  cpu: z.int(),
  memory_mb: z.int(),
  /** MiB of its file system. */
  disk_mb: z.int(),
  idle_timeout_seconds: z.int(),
  always_on: z.boolean(),
  /** RFC 3339: when it came back on another host after its own was lost; `null`: never. */
  recovered_at: z.string().nullable(),
  /** RFC 3339: commits after that time may have been lost with the host; `null` with `recovered_at`. */
  recovered_until: z.string().nullable(),
})
export type Database = z.infer<typeof database>

/** Answer of `GET /v1/databases/{id}/stats`. */
export const databaseStats = z.object({
  /** Bytes of all databases of the server. */
  size_bytes: z.number(),
  /** Client connections, without the broker's own. */
  connections: z.int(),
  max_connections: z.int(),
  /** Share of blocks read from memory, 0 to 1; `null` before the first read. */
  cache_hit_ratio: z.number().nullable(),
  commits: z.number(),
  deadlocks: z.number(),
  /** State of the WAL archive, which is kept beside the backups. */
  archive: z.object({
    /** `behind`: many segments wait. `failing`: the last attempt archived nothing. */
    state: z.enum(['ok', 'behind', 'failing']),
    /**
     * Finished WAL segments that wait on the database's own disk. Beyond 256, segments are dropped and `gap_at` is set.
     */
    waiting_segments: z.int(),
    /** Bytes on the host's disk. */
    size_bytes: z.number(),
    /** RFC 3339: the last archived segment; `null` if there is none. */
    last_at: z.string().nullable(),
    /**
     * RFC 3339: when the archive last lost a segment. Times between then and the next backup cannot be restored.
     * `null`: the archive is complete.
     */
    gap_at: z.string().nullable(),
    /** Archived WAL that the object store does not have yet; `null` without an object store. */
    objects: z
      .object({
        waiting_bytes: z.number(),
        /** Since the oldest segment that waits was archived; 0 if none waits. */
        waiting_seconds: z.number(),
        /** Why the last upload failed; `null` if it succeeded. */
        error: z.string().nullable(),
      })
      .nullable(),
  }),
  /** Slowest statements by mean time, slowest first. */
  slow_statements: z.array(
    z.object({
      query: z.string(),
      calls: z.number(),
      total_ms: z.number(),
      mean_ms: z.number(),
      rows: z.number(),
    }),
  ),
})

/** Query of `GET /v1/databases`. */
export const databaseListQuery = createdQuery.extend({
  label: once('label').optional(),
  size: queryOneOf('size', DATABASE_SIZES),
  status: queryOneOf('status', databaseStatus.options),
})

/** Query of `GET /v1/databases/{id}/backups`. */
export const backupListQuery = createdQuery.extend({
  origin: queryOneOf('origin', databaseBackup.shape.origin.options),
  verified: queryOneOf('verified', databaseBackup.shape.verified.options),
})
