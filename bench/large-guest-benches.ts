import { mkdir, mkdtemp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AgentProcess } from '@offshoot/agent/test/agent-process'
import { agentOfLarge } from './agent-of-base.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const LARGE_MIB = 4096
/** Beside the images, so that their large files need not be copied. */
const PLACE = resolve(import.meta.dirname, '../.offshoot')

/** One fork of a sandbox that has just been made, by the agent's own route. */
async function forkOf(agent: AgentProcess, template: string, samples: Samples): Promise<void> {
  const { id } = await agent.created({}, template)
  await agent.sh(id, 'true')
  const made = await samples.time(async () => agent.forked(id))
  for (const each of [...(made?.children ?? []), { id }]) await agent.delete(each.id)
  if (made) await agent.call('DELETE', `/v1/snapshots/${made.snapshot.id}`)
}

/** What a guest of 4 GiB costs to fork, beside one of 512 MiB, in turn. */
export async function forkLarge(n = 15): Promise<Record<string, Figure>> {
  await mkdir(PLACE, { recursive: true })
  const { agent, release } = await agentOfLarge(LARGE_MIB, await mkdtemp(join(PLACE, 'bench-large-')))
  const [large, base] = [new Samples(), new Samples()]
  try {
    for (const _round of rounds(n)) {
      await forkOf(agent, 'large', large)
      await forkOf(agent, 'base', base)
    }
  } finally {
    await release()
  }
  return { fork_4gib: large.figure('ms', base.p50) }
}
