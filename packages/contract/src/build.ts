import { z } from 'zod'
import { integer, optional, text } from './fields.ts'

/** MiB of a template's disk whose builder names no size. */
export const DEFAULT_TEMPLATE_MIB = 1024
export const MAX_TEMPLATE_MIB = 16_384
const MIN_TEMPLATE_MIB = 16
const DEFAULT_CPU = 1
const MAX_CPU = 16
const DEFAULT_MEMORY_MIB = 512
const MIN_MEMORY_MIB = 128
const MAX_MEMORY_MIB = 65_536
const MAX_COMMAND_CHARS = 65_536
/** Bytes of an archive that travels in JSON, before it was encoded. */
export const MAX_JSON_ROOTFS_BYTES = 64 * 1024 * 1024

/** `queued → running → baking → done`; `failed` from any of them. */
export const buildStatus = z.enum(['queued', 'running', 'baking', 'done', 'failed'])
export type BuildStatus = z.infer<typeof buildStatus>

/** What a build is at: the archive is read, unpacked onto the disk, booted with its commands, and frozen. */
export const buildStage = z.enum(['waiting', 'reading', 'unpacking', 'booting', 'freezing', 'done'])
export type BuildStage = z.infer<typeof buildStage>

const NAME_MISSING = 'name is required'
/** Paths below `/v1/templates`. */
const RESERVED: ReadonlySet<string> = new Set(['build', 'builds'])
export const newTemplateName = z
  .string({ error: ({ input }) => (input === undefined || input === null ? NAME_MISSING : 'name must be a string') })
  .min(1, NAME_MISSING)
  .max(64, 'name must be at most 64 characters')
  .regex(/^[A-Za-z0-9._-]*$/, 'name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_" and "-"')
  .refine((name) => !RESERVED.has(name), 'name must not be "build" or "builds"')
  .refine((name) => name !== '.' && name !== '..', 'name must not be "." or ".."')

/** Of `POST /v1/templates/build`, beside `rootfs`: a tar archive, its compression told by content. */
export const buildFields = z.object({
  /** Unique among the workspace's templates, and none of the global ones. */
  name: newTemplateName,
  /** MiB of the disk, 16 to 16384; default 1024. */
  size_mb: optional(integer('size_mb', MIN_TEMPLATE_MIB, MAX_TEMPLATE_MIB)).transform(
    (size) => size ?? DEFAULT_TEMPLATE_MIB,
  ),
  /** vCPUs, 1 to 16; default 1. */
  cpu: optional(integer('cpu', 1, MAX_CPU)).transform((cpu) => cpu ?? DEFAULT_CPU),
  /** MiB of memory, 128 to 65536; default 512. */
  memory_mb: optional(integer('memory_mb', MIN_MEMORY_MIB, MAX_MEMORY_MIB)).transform(
    (mib) => mib ?? DEFAULT_MEMORY_MIB,
  ),
  /** Run once before the template is frozen; what it leaves running, or itself, runs in every sandbox. Default: what the image names. Empty: nothing. */
  start_cmd: optional(text('start_cmd', MAX_COMMAND_CHARS)),
  /** Run until it exits 0: then the template is frozen. */
  ready_cmd: optional(text('ready_cmd', MAX_COMMAND_CHARS)),
  /** Takes the place of the workspace's template of that name once it is done. */
  replace: optional(z.boolean({ error: 'replace must be a boolean' })).transform((replace) => replace ?? false),
})
export type BuildFields = z.infer<typeof buildFields>

/** Body of `POST /v1/templates/build` where it is JSON. */
export const jsonBuildBody = buildFields.extend({
  /** Base64. */
  rootfs: z
    .string({
      error: ({ input }) => (input === undefined || input === null ? 'rootfs is required' : 'rootfs must be a string'),
    })
    .min(1, 'rootfs is required'),
})

/** Body of `POST /v1/sandboxes/{id}/template` → 202 {@link build}: a template of what that sandbox is at this instant. */
export const sandboxTemplateBody = z
  .object({
    /** Unique among the workspace's templates, and none of the global ones. */
    name: newTemplateName,
    /** Also of its memory, as a snapshot: sandboxes go on where it stood. Default false: of its disk, which is booted anew. */
    memory: optional(z.boolean({ error: 'memory must be a boolean' })).transform((memory) => memory ?? false),
    /** Of a template of the disk, as {@link buildFields} has it. Default: that of the sandbox's own template. */
    start_cmd: optional(text('start_cmd', MAX_COMMAND_CHARS)),
    ready_cmd: optional(text('ready_cmd', MAX_COMMAND_CHARS)),
    /** Takes the place of the workspace's template of that name once it is done. */
    replace: optional(z.boolean({ error: 'replace must be a boolean' })).transform((replace) => replace ?? false),
  })
  .refine(({ memory, start_cmd }) => !memory || start_cmd === undefined, 'start_cmd is for a template without memory')
  .refine(({ memory, ready_cmd }) => !memory || ready_cmd === undefined, 'ready_cmd is for a template without memory')
export type SandboxTemplateBody = z.infer<typeof sandboxTemplateBody>

/** A build as the API shows it. */
export const build = z.object({
  /** UUID. */
  id: z.string(),
  /** Of the template. */
  name: z.string(),
  status: buildStatus,
  stage: buildStage,
  /** 0 to 100. */
  percent: z.int(),
  /** Why it failed, beginning with the stage. */
  error: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds, as all times. */
  created_at: z.string(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  /** Of the disk. */
  size_mb: z.int(),
  /** Of the archive, or of what was taken of a sandbox. */
  bytes: z.int(),
})
export type Build = z.infer<typeof build>

/** Data of the events `line` of `GET …/builds/{id}/logs`. */
export const buildLogLine = z.object({ ts: z.string(), stage: buildStage, percent: z.int(), line: z.string() })
export type BuildLogLine = z.infer<typeof buildLogLine>
