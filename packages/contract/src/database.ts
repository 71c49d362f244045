import { z } from 'zod'
import { flag, integer, optional, text } from './fields.ts'

/** Memory of a database; fixed for its life. */
export const DATABASE_SIZES = ['1g', '4g', '16g'] as const
export type DatabaseSize = (typeof DATABASE_SIZES)[number]

/** The template of each size; all are the same image. */
export const DATABASE_TEMPLATES: Record<DatabaseSize, string> = {
  '1g': 'postgres-16',
  '4g': 'postgres-16-4g',
  '16g': 'postgres-16-16g',
}

/** Seconds without a connection after which a database sleeps. */
export const DEFAULT_DATABASE_IDLE_SECONDS = 300
/** MiB of a new database's file system, and of the largest: all have a device of that size (templates/postgres-16). */
export const DEFAULT_DATABASE_DISK_MB = 8192
const MAX_DATABASE_DISK_MB = 65_536
const MAX_IDLE_SECONDS = 31 * 24 * 3600

/** The one database that is there from the beginning; its owner may make others beside it. */
export const DATABASE_NAME = 'app'

/** Where the guest's server listens, on its own 127.0.0.1. */
export const DATABASE_PORT = 5432

/**
 * The role that owns a database: what clients outside name it by, because the start-up packet of a connection says nothing else
 * that is theirs. @param id UUID of the database, which is that of its sandbox
 */
export function databaseUser(id: string): string {
  return `db_${id.replaceAll('-', '')}`
}

const USER = /^db_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

/** The id in such a name; `null` for what is none. */
export function databaseOfUser(user: string): string | null {
  const parts = USER.exec(user)
  return parts === null ? null : parts.slice(1).join('-')
}

const label = text('label', 128)

/** Body of `POST /v1/databases`. */
export const createDatabaseBody = z.object({
  /** For people; need not be unique. */
  label: optional(label),
  /** Default `1g`. */
  size: optional(z.enum(DATABASE_SIZES, { error: `size must be one of ${DATABASE_SIZES.join(', ')}` })),
})
export type CreateDatabaseBody = z.infer<typeof createDatabaseBody>

/** Body of `PATCH /v1/databases/{id}`. */
export const patchDatabaseBody = z.object({
  label: optional(label),
  /** 60 to 2678400; default 300. */
  idle_timeout_seconds: optional(integer('idle_timeout_seconds', 60, MAX_IDLE_SECONDS)),
  /** It never sleeps. */
  always_on: optional(flag('always_on')),
  /** MiB of its file system, 8192 to 65536; it only grows. */
  disk_mb: optional(integer('disk_mb', DEFAULT_DATABASE_DISK_MB, MAX_DATABASE_DISK_MB)),
})
export type DatabasePatch = z.infer<typeof patchDatabaseBody>

/** Body of `POST /v1/databases/{id}/branch`. */
export const branchDatabaseBody = z.object({
  label: optional(label),
  /** Id of a backup of it; default: as it is now. */
  at: optional(text('at', 64)),
})

/** Body of `POST /v1/databases/{id}/restore`. */
export const restoreDatabaseBody = z.object({
  label: optional(label),
  /** RFC 3339, with a time zone; from the oldest backup on, and not in the future. To the millisecond. */
  time: z.iso.datetime({
    offset: true,
    error: ({ input }) =>
      input === undefined || input === null ? 'time required' : 'time must be an RFC 3339 time with a time zone',
  }),
})

/** Backups of one database that are kept; the oldest go. */
export const KEPT_BACKUPS = 7

/** A database as it was at one instant. */
export const databaseBackup = z.object({
  /** UUID; that of the snapshot it is. */
  id: z.string(),
  database_id: z.string(),
  /** `daily`: nobody asked for it. */
  origin: z.enum(['request', 'daily']),
  /** Bytes that it has of its own. */
  size_bytes: z.number(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** Whether it could be restored, with every table and index in order; tried in the background. */
  verified: z.enum(['pending', 'ok', 'failed']),
  /** RFC 3339: when that was found out. */
  verified_at: z.string().nullable(),
  /** What was wrong. */
  verify_error: z.string().nullable(),
})
export type DatabaseBackup = z.infer<typeof databaseBackup>

export const databaseStatus = z.enum(['provisioning', 'running', 'hibernated', 'failed'])
export type DatabaseStatus = z.infer<typeof databaseStatus>

/** A database in a list: without what opens it. */
export const databaseSummary = z.object({
  /** UUID. */
  id: z.string(),
  label: z.string().nullable(),
  size: z.enum(DATABASE_SIZES),
  status: databaseStatus,
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})
export type DatabaseSummary = z.infer<typeof databaseSummary>

/** What opens a database. */
export const databaseConnection = z.object({
  /** `postgresql://…?sslmode=require`, with the password. */
  connection_url: z.string(),
  /** Base address of the SQL-over-HTTP broker. */
  broker_url: z.string(),
  /** `ofs_pg_…`: opens the broker of this database and nothing else. */
  broker_token: z.string(),
})

export const database = databaseSummary.extend({
  ...databaseConnection.shape,
  host: z.string(),
  port: z.int(),
  database: z.string(),
  username: z.string(),
  password: z.string(),
  /** vCPUs that it got: 8 where the host's accelerator allows it. */
  cpu: z.int(),
  memory_mb: z.int(),
  /** MiB of its file system. */
  disk_mb: z.int(),
  idle_timeout_seconds: z.int(),
  always_on: z.boolean(),
  /** The database it is a branch of. */
  parent_id: z.string().nullable(),
})
export type Database = z.infer<typeof database>

/** `GET /v1/databases/{id}/stats`. */
export const databaseStats = z.object({
  /** Bytes of all databases of the server. */
  size_bytes: z.number(),
  /** Of clients, the broker's own left out. */
  connections: z.int(),
  max_connections: z.int(),
  /** Share of blocks that were read from memory; `null` before the first. */
  cache_hit_ratio: z.number().nullable(),
  commits: z.number(),
  deadlocks: z.number(),
  /** What was written, as it is kept beside the backups. */
  archive: z.object({
    /** `behind`: much waits to be archived. `failing`: nothing could be at the last try. */
    state: z.enum(['ok', 'behind', 'failing']),
    /** Finished segments that wait in the database's machine, on its own disk; beyond 256 they are given up (`gap_at`). */
    waiting_segments: z.int(),
    /** Bytes on the host's disk. */
    size_bytes: z.number(),
    /** RFC 3339: when something was last archived; `null`: never. */
    last_at: z.string().nullable(),
    /** RFC 3339: when something was lost to it. No time between then and the next backup can be restored. `null`: nothing is missing. */
    gap_at: z.string().nullable(),
  }),
  /** By mean time, the slowest first. */
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
