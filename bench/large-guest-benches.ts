import { mkdir, mkdtemp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AgentProcess } from '@offshoot/agent/test/agent-process'
import { startLargeAgent } from './base-agent.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const LARGE_MIB = 4096
/** On the file system of the images, so that their large files can be shared. */
const PLACE = resolve(import.meta.dirname, '../.offshoot')

/** Forks a new sandbox once, through the agent's own route. */
async function forkOf(agent: AgentProcess, template: string, samples: Samples): Promise<void> {
  const { id } = await agent.created({}, template)
  await agent.sh(id, 'true')
  const made = await samples.time(async () => agent.forked(id))
  for (const each of [...(made?.children ?? []), { id }]) await agent.delete(each.id)
  if (made) await agent.call('DELETE', `/v1/snapshots/${made.snapshot.id}`)
}

/** Forks of a guest of 4 GiB and of one of 512 MiB, alternately. */
export async function forkLarge(n = 15): Promise<Record<string, Figure>> {
  await mkdir(PLACE, { recursive: true })
  const { agent, release } = await startLargeAgent(LARGE_MIB, await mkdtemp(join(PLACE, 'bench-large-')))
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

/** Makes nearly all of a large guest's memory private. */
const FILL = 'mount -t tmpfs -o size=90% none /mnt && dd if=/dev/zero of=/mnt/memory bs=1M count=3400 2>/dev/null'

/**
 * Pause of a small guest during a fork, while a guest of 4 GiB is being hibernated on the same host, in milliseconds.
 */
export async function forkBesideHibernation(n = 4): Promise<Record<string, Figure>> {
  await mkdir(PLACE, { recursive: true })
  const { agent, release } = await startLargeAgent(LARGE_MIB, await mkdtemp(join(PLACE, 'bench-beside-')))
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
        // A fork that ended after the hibernation also counts, because it may have waited for its end.
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
