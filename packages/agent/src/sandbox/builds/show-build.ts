import type { AgentBuild } from '@offshoot/contract/agent-build'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import type { BuiltTemplates } from '../../store/templates/built-templates.ts'
import { showTemplate } from '../templates/show-template.ts'
import type { Build } from './build.ts'
import { isEnded } from '../../store/builds/build-record.ts'

export async function showBuild(templates: BuiltTemplates<BakedTemplate>, { record, log }: Build): Promise<AgentBuild> {
  const { id, workspace_id, name, status, error, started_at, ended_at, size_mb, bytes } = record
  const template = templates.find(id, null)
  const { stage, percent } = isEnded(record) ? record : log
  return {
    id,
    workspace_id,
    name,
    status,
    stage,
    percent,
    error,
    started_at,
    ended_at,
    size_mb,
    bytes,
    template: template === null ? null : await showTemplate(templates, template),
  }
}
