import { randomUUID } from 'node:crypto'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { readLifecycle } from '../../../fleet/sandbox-calls.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'

/** Idle seconds after which an instance that no longer serves may end. */
const QUIET_SECONDS = 1

export async function isQuiet(remover: Remover, sandbox: SandboxRow): Promise<boolean> {
  const lifecycle = await readLifecycle(liveAgent(remover, sandbox), subjectOf(sandbox, randomUUID()))
  return lifecycle.idle_seconds >= QUIET_SECONDS
}
