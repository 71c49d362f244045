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

/** Nearly all of a large guest's memory, as its own. */
const FILL = 'mount -t tmpfs -o size=90% none /mnt && dd if=/dev/zero of=/mnt/memory bs=1M count=3400 2>/dev/null'

/** Milliseconds for which a small guest stands still for a fork, while one of 4 GiB is hibernated on the same host. */
export async function forkBesideHibernation(n = 4): Promise<Record<string, Figure>> {
  await mkdir(PLACE, { recursive: true })
  const { agent, release } = await agentOfLarge(LARGE_MIB, await mkdtemp(join(PLACE, 'bench-beside-')))
  const pause = new Samples()
  try {
    const [large, small] = [await agent.created({}, 'large'), await agent.created({}, 'base')]
    await agent.sh(large.id, FILL)
    await agent.sh(small.id, 'true')
    for (const _round of rounds(n)) {
      const hibernating = { isOver: false }
      const hibernation = agent.act(large.id, 'hibernate').finally(() => (hibernating.isOver = true))
      while (!hibernating.isOver) {
        const { snapshot, children } = await agent.forked(small.id)
        // One that began beside the hibernation and ended after it counts, too: it may have waited for its end.
        const staged = (await agent.records()).findLast(({ event }) => event.type === 'fork.staged')
        pause.add(Number(staged?.event.metadata['pause_ms']))
        for (const child of children) await agent.delete(child.id)
        await agent.call('DELETE', `/v1/snapshots/${snapshot.id}`)
      }
      const { status } = await hibernation
      if (status !== 200) throw new Error(`hibernate answered ${status}`)
      await agent.act(large.id, 'wake')
    }
  } finally {
    await release()
  }
  return { fork_pause_beside_hibernation_ms: pause.figure('ms') }
}
