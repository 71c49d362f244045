import type { Template } from '@offshoot/contract/template'
import type { TemplateRow } from './template-statements.ts'

/** The public view of a row. */
export function presentTemplate({ workspace_id: workspaceId, ...row }: TemplateRow): Template {
  return {
    name: row.name,
    rootfs_path: row.rootfs_path,
    size_bytes: row.size_bytes,
    cpu: row.cpu,
    memory_mb: row.memory_mb,
    meta: row.meta,
    is_global: workspaceId === null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}
