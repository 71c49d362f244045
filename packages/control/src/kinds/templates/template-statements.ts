import { statement } from '../../platform/db/statement.ts'

export interface TemplateRow {
  /** The template's id on its agent, and that agent; `null` for a global template. */
  readonly id: string | null
  readonly agent_id: string | null
  readonly name: string
  readonly workspace_id: string | null
  readonly rootfs_path: string
  readonly size_bytes: number
  readonly cpu: number
  readonly memory_mb: number
  readonly meta: Record<string, unknown>
  readonly created_at: Date
  readonly updated_at: Date
}

/** The select list of a {@link TemplateRow}. */
export const TEMPLATE_COLUMNS =
  'id, agent_id, name, workspace_id, rootfs_path, size_bytes, cpu, memory_mb, meta, created_at, updated_at'

/** The workspace's own template takes precedence over a global one of the same name. */
export const templateByName = statement<TemplateRow, [workspaceId: string, name: string]>(
  'template-by-name',
  `select ${TEMPLATE_COLUMNS} from templates where name = $2 and (workspace_id is null or workspace_id = $1)
   order by workspace_id nulls last limit 1`,
)

/**
 * The global templates are those that agents report: adds new ones, and removes those that no agent reports any more.
 * Sizes on disk and fingerprints differ between agents, so they do not count as a change of the template.
 */
export const reportGlobalTemplates = statement<never, [templates: string]>(
  'report-global-templates',
  `insert into templates (name, rootfs_path, size_bytes, cpu, memory_mb, meta)
   select name, rootfs_path, size_bytes, cpu, memory_mb, meta
   from jsonb_to_recordset($1) as t (name text, rootfs_path text, size_bytes bigint, cpu int, memory_mb int, meta jsonb)
   order by name
   on conflict (name, workspace_id) do update set rootfs_path = excluded.rootfs_path, size_bytes = excluded.size_bytes,
     cpu = excluded.cpu, memory_mb = excluded.memory_mb, meta = excluded.meta,
     updated_at = case
       when (templates.cpu, templates.memory_mb, templates.meta -> 'image_digest')
         is distinct from (excluded.cpu, excluded.memory_mb, excluded.meta -> 'image_digest') then now()
       else templates.updated_at end`,
)

export const dropUnreportedTemplates = statement<never, []>(
  'drop-unreported-templates',
  `delete from templates t where workspace_id is null and not exists (
     select from agents a where a.info -> 'templates' @> jsonb_build_array(jsonb_build_object('name', t.name))
   )`,
)

/** Replaces the workspace's own template of that name. */
export const putTemplate = statement<
  { name: string },
  [
    id: string,
    agentId: string,
    workspaceId: string,
    name: string,
    rootfsPath: string,
    sizeBytes: number,
    cpu: number,
    memoryMb: number,
    meta: string,
  ]
>(
  'put-template',
  `insert into templates (id, agent_id, workspace_id, name, rootfs_path, size_bytes, cpu, memory_mb, meta)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   on conflict (name, workspace_id) do update set id = excluded.id, agent_id = excluded.agent_id,
     rootfs_path = excluded.rootfs_path, size_bytes = excluded.size_bytes, cpu = excluded.cpu,
     memory_mb = excluded.memory_mb, meta = excluded.meta, updated_at = now(), is_missing = false
   returning name`,
)

export const removeTemplateRow = statement<{ name: string }, [workspaceId: string, id: string]>(
  'remove-template-row',
  'delete from templates where workspace_id = $1 and id = $2 returning name',
)

/** The ids that an agent's templates may have beside those of the rows: those of builds, and of installed trees. */
export const otherTemplateIds = statement<{ id: string }, [agentId: string]>(
  'other-template-ids',
  `select id from template_builds where agent_id = $1 and ended_at is null
   union select id from app_trees where agent_id = $1`,
)
