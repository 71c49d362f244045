import { z } from 'zod'

/** What a template may be called: also a folder name and a path segment of the API, so nothing that needs escaping. */
export const templateName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)

/**
 * `IMAGES/templates/NAME/template.json`, beside the template's `rootfs.ext4`: what the image is and the machine it is baked for.
 * Written by the image builder, read by the agent when it bakes.
 */
export const templateImage = z.strictObject({
  name: templateName,
  /** Hash of everything the image was built from; another version means another image, so its bake is stale. */
  version: z.string().regex(/^[0-9a-f]{16,64}$/),
  /** vCPUs. */
  cpu: z.int().min(1).max(64),
  /** vCPUs where the host's processor runs guests itself: what idles costs nothing there, so that there may be more. Default `cpu`. */
  cpu_hardware: z.int().min(1).max(64).optional(),
  /** Guest memory, MiB. */
  memory_mb: z.int().min(32).max(1_048_576),
  /** Apparent size of the root disk, MiB; the file is sparse. */
  disk_mb: z.int().min(8).max(1_048_576),
  /** Run once under `sh -c` as root at the bake, before `ready_cmd`; what it leaves running is part of every sandbox. */
  start_cmd: z.string().min(1).nullable(),
  /** Run under `sh -c` as root at the bake, repeatedly until it exits 0: proves that the image works. */
  ready_cmd: z.string().min(1).nullable(),
  /**
   * The disk of its sandboxes outlives their VMs: what a guest has synced is on the host's disk, and a sandbox whose VM ends
   * is booted from its disk again.
   */
  durable: z.boolean().optional(),
  /** It is baked when somebody first wants it. */
  on_demand: z.boolean().optional(),
  /** What people call it, where its name is an id. */
  title: z.string().optional(),
  /** Where there is no `start_cmd`: the command that the image names itself, with its arguments. It may fail. */
  start_argv: z.array(z.string()).min(1).optional(),
  /** In every command's environment, below what a sandbox is created with. */
  env: z.record(z.string(), z.string()).optional(),
  /** Where commands run that name no folder; default the user's home. */
  cwd: z.string().startsWith('/').optional(),
  /** Name or number of the account of commands that name none; default root. */
  user: z.string().min(1).optional(),
  /** One sentence for people. */
  description: z.string(),
  /** The software a user would ask for, by name, with its exact version. */
  packages: z.record(z.string(), z.string()),
})

export type TemplateImage = z.infer<typeof templateImage>
