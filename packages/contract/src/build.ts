import { z } from 'zod'
import { integer, optional, text } from './fields.ts'
import { createdQuery, once } from './page.ts'
import { queryOneOf } from './query-fields.ts'

/** Default size of a template's disk, MiB. */
export const DEFAULT_TEMPLATE_MIB = 1024
export const MAX_TEMPLATE_MIB = 16_384
const MIN_TEMPLATE_MIB = 16
const DEFAULT_CPU = 1
const MAX_CPU = 16
const DEFAULT_MEMORY_MIB = 512
const MIN_MEMORY_MIB = 128
const MAX_MEMORY_MIB = 65_536
const MAX_COMMAND_CHARS = 65_536
/** Maximum bytes of an archive sent as JSON, before base64 encoding. */
export const MAX_JSON_ROOTFS_BYTES = 64 * 1024 * 1024

/** `queued → running → baking → done`; `failed` can follow any of the first three. */
export const buildStatus = z.enum(['queued', 'running', 'baking', 'done', 'failed'])
export type BuildStatus = z.infer<typeof buildStatus>

/** The stages of a build: read the archive, unpack it onto the disk, boot and run its commands, freeze the VM. */
export const buildStage = z.enum(['waiting', 'reading', 'unpacking', 'booting', 'freezing', 'done'])
export type BuildStage = z.infer<typeof buildStage>

const NAME_MISSING = 'name is required'
/** Path segments below `/v1/templates`, which cannot be names. */
const RESERVED: ReadonlySet<string> = new Set(['build', 'builds'])
/** Name of a template to build: 1 to 64 of `A-Z a-z 0-9 . _ -`, and none of the reserved words. */
export const newTemplateName = z
  .string({ error: ({ input }) => (input === undefined || input === null ? NAME_MISSING : 'name must be a string') })
  .min(1, NAME_MISSING)
  .max(64, 'name must be at most 64 characters')
  .regex(/^[A-Za-z0-9._-]*$/, 'name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_" and "-"')
  .refine((name) => !RESERVED.has(name), 'name must not be "build" or "builds"')
  .refine((name) => name !== '.' && name !== '..', 'name must not be "." or ".."')

/**
 * Fields of `POST /v1/templates/build`, beside `rootfs`: a tar archive. The agent detects its compression from its
 * content.
 */
export const buildFields = z.object({
  /** Unique among the workspace's templates, and different from all global templates. */
  name: newTemplateName,
  /** Size of the disk in MiB, 16 to 16384; default 1024. */
  size_mb: optional(integer('size_mb', MIN_TEMPLATE_MIB, MAX_TEMPLATE_MIB)).transform(
    (size) => size ?? DEFAULT_TEMPLATE_MIB,
  ),
  /** vCPUs, 1 to 16; default 1. */
  cpu: optional(integer('cpu', 1, MAX_CPU)).transform((cpu) => cpu ?? DEFAULT_CPU),
  /** MiB of memory, 128 to 65536; default 512. */
  memory_mb: optional(integer('memory_mb', MIN_MEMORY_MIB, MAX_MEMORY_MIB)).transform(
    (mib) => mib ?? DEFAULT_MEMORY_MIB,
  ),
  /**
   * Runs once before the template is frozen. Its processes run in every sandbox of the template. Default: the image's
   * own command. Empty: no command.
   */
  start_cmd: optional(text('start_cmd', MAX_COMMAND_CHARS)),
  /** Repeated until it exits 0; then the template is frozen. */
  ready_cmd: optional(text('ready_cmd', MAX_COMMAND_CHARS)),
  /** Replaces the workspace's template of that name when the build is done. */
  replace: optional(z.boolean({ error: 'replace must be a boolean' })).transform((replace) => replace ?? false),
})
export type BuildFields = z.infer<typeof buildFields>

/** Body of `POST /v1/templates/build` as JSON. */
export const jsonBuildBody = buildFields.extend({
  /** Base64. */
  rootfs: z
    .string({
      error: ({ input }) => (input === undefined || input === null ? 'rootfs is required' : 'rootfs must be a string'),
    })
    .min(1, 'rootfs is required'),
})

/**
 * Body of `POST /v1/sandboxes/{id}/template` → 202 {@link build}: makes a template from the sandbox's present state.
 */
export const sandboxTemplateBody = z
  .object({
    /** Unique among the workspace's templates, and different from all global templates. */
    name: newTemplateName,
    /**
     * True: includes the memory, so that new sandboxes continue from this state. False (default): the disk only; it is
     * booted anew.
     */
    memory: optional(z.boolean({ error: 'memory must be a boolean' })).transform((memory) => memory ?? false),
    /** Applies without `memory`, as in {@link buildFields}. Default: the command of the sandbox's own template. */
    start_cmd: optional(text('start_cmd', MAX_COMMAND_CHARS)),
    ready_cmd: optional(text('ready_cmd', MAX_COMMAND_CHARS)),
    /** Replaces the workspace's template of that name when the build is done. */
    replace: optional(z.boolean({ error: 'replace must be a boolean' })).transform((replace) => replace ?? false),
  })
  .refine(({ memory, start_cmd }) => !memory || start_cmd === undefined, 'start_cmd is for a template without memory')
  .refine(({ memory, ready_cmd }) => !memory || ready_cmd === undefined, 'ready_cmd is for a template without memory')
export type SandboxTemplateBody = z.infer<typeof sandboxTemplateBody>

/** A build as the API shows it. */
export const build = z.object({
  /** UUID. */
  id: z.string(),
  /** Name of the template. */
  name: z.string(),
  status: buildStatus,
  stage: buildStage,
  /** 0 to 100. */
  percent: z.int(),
  /** Why it failed; begins with the stage. */
  error: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds, like all times here. */
  created_at: z.string(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  /** Size of the disk, MiB. */
  size_mb: z.int(),
  /** Bytes of the archive, or of the data captured from the sandbox. */
  bytes: z.int(),
})
export type Build = z.infer<typeof build>

/** Data of the `line` events of `GET …/builds/{id}/logs`. */
export const buildLogLine = z.object({ ts: z.string(), stage: buildStage, percent: z.int(), line: z.string() })
export type BuildLogLine = z.infer<typeof buildLogLine>

/** Query of `GET /v1/templates/{name}/builds`. */
export const templateBuildListQuery = createdQuery.extend({ status: queryOneOf('status', buildStatus.options) })

/** Query of `GET /v1/templates/builds`. */
export const buildListQuery = templateBuildListQuery.extend({
  /** Name of the template. */
  name: once('name').optional(),
})
