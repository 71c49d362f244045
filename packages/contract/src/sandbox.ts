import { z } from 'zod'
import { env } from './env.ts'
import { flag, integer, optional, requiredText, stringMap, text } from './fields.ts'
import { MAX_SANDBOX_VOLUMES } from './volume.ts'

/** `creating` until the guest has answered; `failed` is final but for delete. */
export const sandboxStatus = z.enum(['creating', 'running', 'paused', 'hibernated', 'failed'])
export type SandboxStatus = z.infer<typeof sandboxStatus>

/** How the VM came to run: kernel booted; restored from a snapshot; taken from the pool; forked. */
export const bootMode = z.enum(['cold', 'snapshot', 'pool', 'fork'])
export type BootMode = z.infer<typeof bootMode>

/** Seconds a sandbox lives when its creator names no other time. */
export const DEFAULT_TTL_SECONDS = 3600
/** What PostgreSQL's integer holds, 68 years: nothing that ends later than that is meant to end. */
const MAX_TTL_SECONDS = 2_147_483_647
/** Seconds without activity after which a persistent sandbox hibernates by default. */
export const DEFAULT_IDLE_TIMEOUT_SECONDS = 600

const volumeAttachment = z.object(
  { name: requiredText('volumes.name', 64), read_only: optional(flag('volumes.read_only')) },
  { error: 'volumes must be an array of objects' },
)

/** Where a sandbox's packets may go: to every public address, or nowhere. */
export const egress = z.enum(['internet', 'none'], { error: 'network.egress must be "internet" or "none"' })
export type Egress = z.infer<typeof egress>

const network = z.object({ egress: optional(egress) }, { error: 'network must be an object' })

const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed()

/** Body of `POST /v1/sandboxes`. */
export const createSandboxBody = z.object({
  template: requiredText('template', 64),
  ttl_seconds: optional(integer('ttl_seconds', 1, MAX_TTL_SECONDS)),
  /** Free-form tags, at most 64 of 256/4096 characters. */
  metadata: optional(
    stringMap('metadata', { entries: 64, keyChars: 256, valueChars: 4096 })
      // Neither can be kept in PostgreSQL's jsonb.
      .refine(
        (map) => Object.entries(map).flat().every(isStorable),
        'metadata must not contain NUL or half a surrogate pair',
      ),
  ),
  from_snapshot: optional(text('from_snapshot', 64)),
  persistent: optional(flag('persistent')),
  idle_timeout_seconds: optional(integer('idle_timeout_seconds', 60, MAX_TTL_SECONDS)),
  volumes: optional(
    z
      .array(volumeAttachment, { error: 'volumes must be an array of objects' })
      .max(MAX_SANDBOX_VOLUMES, `volumes must have at most ${MAX_SANDBOX_VOLUMES} entries`)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'volumes must not name one twice'),
  ),
  /** Present in every command's environment; never returned by a read. */
  env,
  /** `egress` is `internet` by default; from a snapshot, as it was there. */
  network: optional(network),
  /** Accepted from older clients and ignored: the template decides. */
  cpu: optional(z.int({ error: 'cpu must be an integer' })),
  /** Accepted from older clients and ignored: the template decides. */
  memory_mb: optional(z.int({ error: 'memory_mb must be an integer' })),
})
export type CreateSandboxBody = z.infer<typeof createSandboxBody>

/** A sandbox as the API shows it. Optional values are `null`, never missing. */
export const sandbox = z.object({
  /** UUID; also the credential for preview addresses. */
  id: z.string(),
  template: z.string(),
  status: sandboxStatus,
  /** Milliseconds from the agent accepting the request to the guest answering; `null` until then. */
  boot_ms: z.int().nullable(),
  boot_mode: bootMode.nullable(),
  guest_ip: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** vCPUs, the template's. */
  cpu: z.int(),
  /** MiB, the template's. */
  memory_mb: z.int(),
  persistent: z.boolean(),
  /** `null` when persistent. */
  expires_at: z.string().nullable(),
  from_snapshot: z.string().nullable(),
  parent_id: z.string().nullable(),
  fork_tree_id: z.string().nullable(),
  volumes: z.array(z.object({ name: z.string(), read_only: z.boolean() })),
  managed_by: z.enum(['app', 'database']).nullable(),
  network: z.object({ egress }),
})
export type Sandbox = z.infer<typeof sandbox>

/** Answer of a wake. */
export const wokenSandbox = sandbox.extend({
  /** There and true when the sandbox was booted from its disk: its memory could not be restored, and is lost. */
  cold: z.literal(true).optional(),
})
