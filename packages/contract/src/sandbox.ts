import { z } from 'zod'
import { env } from './env.ts'
import { flag, integer, isStorable, optional, oneRequired, requiredText, stringMap, text } from './fields.ts'
import { MAX_SANDBOX_VOLUMES } from './volume.ts'

/** `creating` until the guest responds. `failed` is final; the sandbox can only be deleted. */
export const sandboxStatus = z.enum(['creating', 'running', 'paused', 'hibernated', 'failed'])
export type SandboxStatus = z.infer<typeof sandboxStatus>

/**
 * How the VM started: the kernel booted, or the agent restored a snapshot, took a VM from the warm pool, or forked one.
 */
export const bootMode = z.enum(['cold', 'snapshot', 'pool', 'fork'])
export type BootMode = z.infer<typeof bootMode>

/** Default lifetime of a sandbox in seconds. */
export const DEFAULT_TTL_SECONDS = 3600
/** The maximum of PostgreSQL's integer: 68 years. */
const MAX_TTL_SECONDS = 2_147_483_647
/** Default seconds without activity after which a persistent sandbox hibernates. */
export const DEFAULT_IDLE_TIMEOUT_SECONDS = 600

const volumeAttachment = z.object(
  { name: requiredText('volumes.name', 64), read_only: optional(flag('volumes.read_only')) },
  { error: 'volumes must be an array of objects' },
)

/** Outbound network: `internet` allows all public addresses, `none` blocks everything. */
export const egress = z.enum(['internet', 'none'], { error: 'network.egress must be "internet" or "none"' })
export type Egress = z.infer<typeof egress>

const network = z.object({ egress: optional(egress) }, { error: 'network must be an object' })

/** What happens to a sandbox at `expires_at`. `pause` hibernates it. */
export const onTimeout = z.enum(['delete', 'pause'], { error: 'on_timeout must be "delete" or "pause"' })
export type OnTimeout = z.infer<typeof onTimeout>

/** Who may open the ports of a sandbox, or an app: everybody who knows the address, or only who has a link or a session. */
export const visibility = z.enum(['public', 'private'], { error: 'visibility must be "public" or "private"' })
export type Visibility = z.infer<typeof visibility>

const createSandboxFields = z.object({
  /** Its name. May be absent with `from_snapshot`, and is then the snapshot's. */
  template: optional(requiredText('template', 64)),
  ttl_seconds: optional(integer('ttl_seconds', 1, MAX_TTL_SECONDS)),
  /** Default: `delete`. Without effect while the sandbox is persistent. */
  on_timeout: optional(onTimeout),
  /** Free-form tags: at most 64, keys of 256 and values of 4096 characters. */
  metadata: optional(
    stringMap('metadata', { entries: 64, keyChars: 256, valueChars: 4096 }).refine(
      (map) => Object.entries(map).flat().every(isStorable),
      'metadata must not contain NUL or half a surrogate pair',
    ),
  ),
  /** Id of the snapshot from which the sandbox starts. */
  from_snapshot: optional(text('from_snapshot', 64)),
  persistent: optional(flag('persistent')),
  idle_timeout_seconds: optional(integer('idle_timeout_seconds', 60, MAX_TTL_SECONDS)),
  volumes: optional(
    z
      .array(volumeAttachment, { error: 'volumes must be an array of objects' })
      .max(MAX_SANDBOX_VOLUMES, `volumes must have at most ${MAX_SANDBOX_VOLUMES} entries`)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'volumes must not name one twice'),
  ),
  /** Set in every command's environment. Never returned by a read. */
  env,
  /** `egress` defaults to `internet`, or to the snapshot's value. */
  network: optional(network),
  /** Default: `public`, or the snapshot's value. */
  visibility: optional(visibility),
  /** Accepted from older clients and ignored; the template sets it. */
  cpu: optional(z.int({ error: 'cpu must be an integer' })),
  /** Accepted from older clients and ignored; the template sets it. */
  memory_mb: optional(z.int({ error: 'memory_mb must be an integer' })),
})

/** Body of `POST /v1/sandboxes`. */
export const createSandboxBody = createSandboxFields
  .refine(({ template, from_snapshot }) => template !== undefined || from_snapshot !== undefined, 'template required')
  .meta(oneRequired('template', 'from_snapshot'))
export type CreateSandboxBody = z.infer<typeof createSandboxBody>

/** Body of `PATCH /v1/sandboxes/{id}`. */
export const patchSandboxBody = z.object({ visibility })
export type PatchSandboxBody = z.infer<typeof patchSandboxBody>

/** A sandbox as the API shows it. Missing values are `null`. */
export const sandbox = z.object({
  /** UUID; also the credential for preview addresses while `visibility` is `public`. */
  id: z.string(),
  template: z.string(),
  status: sandboxStatus,
  /** Milliseconds from the agent accepting the request to the guest's first response; `null` until then. */
  boot_ms: z.int().nullable(),
  boot_mode: bootMode.nullable(),
  guest_ip: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** vCPUs, from the template. */
  cpu: z.int(),
  /** MiB, from the template. */
  memory_mb: z.int(),
  persistent: z.boolean(),
  /** `null` when persistent, and while a sandbox with `on_timeout: "pause"` is hibernated. */
  expires_at: z.string().nullable(),
  on_timeout: onTimeout,
  from_snapshot: z.string().nullable(),
  parent_id: z.string().nullable(),
  fork_tree_id: z.string().nullable(),
  volumes: z.array(z.object({ name: z.string(), read_only: z.boolean() })),
  managed_by: z.enum(['app', 'database']).nullable(),
  network: z.object({ egress }),
  visibility,
})
export type Sandbox = z.infer<typeof sandbox>

/** Answer of a wake. */
export const wokenSandbox = sandbox.extend({
  /**
   * Present if the service booted the sandbox from its disk, because it could not restore the memory. The memory is
   * lost.
   */
  cold: z.literal(true).optional(),
})
