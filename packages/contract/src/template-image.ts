import { z } from 'zod'

/** A template name. It is also a folder name and a path segment of the API, so no character needs escaping. */
export const templateName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)

/**
 * `IMAGES/templates/NAME/template.json`, beside `rootfs.ext4`: describes the image and the VM that it is baked for. The
 * image builder writes it, and the agent reads it to bake.
 */
export const templateImage = z.strictObject({
  name: templateName,
  /** Hash of all build inputs. A different version means that the existing bake is stale. */
  version: z.string().regex(/^[0-9a-f]{16,64}$/),
  /** vCPUs. */
  cpu: z.int().min(1).max(64),
  /** vCPUs under KVM. An idle vCPU costs nothing there, so it may be more than `cpu`, the default. */
  cpu_hardware: z.int().min(1).max(64).optional(),
  /** Guest memory, MiB. */
  memory_mb: z.int().min(32).max(1_048_576),
  /** Apparent size of the root disk, MiB; the file is sparse. */
  disk_mb: z.int().min(8).max(1_048_576),
  /** Run once under `sh -c` as root during the bake, before `ready_cmd`. Its processes are part of every sandbox. */
  start_cmd: z.string().min(1).nullable(),
  /** Run under `sh -c` as root during the bake, repeatedly until it exits 0. It proves that the image works. */
  ready_cmd: z.string().min(1).nullable(),
  /**
   * The disks of its sandboxes survive their VMs: everything that the guest synced is on the host's disk. If the VM
   * ends, the agent boots the sandbox from that disk.
   */
  durable: z.boolean().optional(),
  /** Baked when the first user requests it. */
  on_demand: z.boolean().optional(),
  /** Display name, if `name` is an id. */
  title: z.string().optional(),
  /** Used without `start_cmd`: the image's own command and its arguments. It may fail. */
  start_argv: z.array(z.string()).min(1).optional(),
  /** Environment of all commands. The sandbox's own variables override it. */
  env: z.record(z.string(), z.string()).optional(),
  /** Default working directory of commands. If absent: the user's home. */
  cwd: z.string().startsWith('/').optional(),
  /** Default user of commands, name or number. If absent: root. */
  user: z.string().min(1).optional(),
  /** One sentence for users. */
  description: z.string(),
  /** Exact version by name, of the software that users ask for. */
  packages: z.record(z.string(), z.string()),
})

export type TemplateImage = z.infer<typeof templateImage>
