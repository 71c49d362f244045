import type { AgentTemplate } from '@offshoot/contract/template'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import type { BuiltTemplates } from '../../store/templates/built-templates.ts'
import type { TemplateRecord } from '../../store/templates/template-record.ts'

/** The description of a template in the API. */
export async function showTemplate(
  templates: BuiltTemplates<BakedTemplate>,
  record: TemplateRecord,
): Promise<AgentTemplate> {
  const { id, image, digest, created_at, memory } = record
  const { cpu, memory_mb, disk_mb, start_cmd, ready_cmd, version, description, env = {}, cwd, user } = image
  return {
    name: image.title ?? image.name,
    rootfs_path: memory === null ? `templates/${id}/rootfs.ext4` : `snapshots/${id}`,
    size_bytes: await templates.occupiedBytes(record),
    cpu,
    memory_mb,
    meta: {
      description,
      version,
      disk_mb,
      cpu,
      memory_mb,
      start_cmd,
      ready_cmd,
      env: Object.keys(env),
      working_dir: cwd ?? null,
      user: user ?? null,
      image_digest: digest,
      fingerprint: memory?.fingerprint ?? templates.bakedOf(record)?.manifest.fingerprint ?? null,
      /** With memory, new sandboxes continue from the state of the sandbox that the template was made from. */
      has_memory: memory !== null,
      created_at,
    },
    is_global: false,
  }
}
