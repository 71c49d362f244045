/** @module-tag faults */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import type { AgentSandbox, AgentSnapshotList } from '@offshoot/contract/agent-api'
import type { AgentQuarantine } from '@offshoot/contract/agent-quarantine'
import type { AgentVolumeList } from '@offshoot/contract/agent-volume'
import { AgentProcess, eventually } from '@offshoot/agent/test/agent-process'
import { imagesWithDurable } from '@offshoot/agent/test/durable-images'
import { canLogDisk, LoggedDisk } from '@offshoot/agent/test/logged-disk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { imagesDir } from '../setup/offshoot.ts'
import { layOutFromSeed } from '../setup/seed.ts'
import { SeededRandom } from '../setup/seeded-random.ts'
import type { OperationHistory, State } from './operation-history.ts'
import {
  contentOf,
  contentOfSnapshot,
  contentOfVolume,
  playDurable,
  playSandboxes,
  playVolumes,
} from './power-cut-operations.ts'

/** OFFSHOOT_POWER_CUTS: number of cuts without a time limit, each logged. OFFSHOOT_SEED: the seed. */
const wanted = process.env['OFFSHOOT_POWER_CUTS']
const CUTS = Number(wanted ?? 10)
/** Default time limit, within which a slow machine makes fewer cuts. */
const BUDGET_MS = wanted === undefined ? 8_000 : Number.POSITIVE_INFINITY
/** Milliseconds of one series of operations. The kernel writes dirty pages back after 30 s. */
const PLAY_MS = wanted === undefined ? 3000 : 12_000
const CUTS_PER_PLAY = wanted === undefined ? CUTS : 25
/** Maximum objects whose content is read after a cut. The metadata of all objects is always compared. */
const READ_PER_CUT = wanted === undefined ? 2 : 6
/** Sparse. The agent archives nothing while less than 2 GiB of the disk are free. */
const DISK_BYTES = 8 * 1024 ** 3

describe.skipIf(!canLogDisk)('a power cut', () => {
  const random = SeededRandom.fromEnvironment()
  let place: string
  let disk: LoggedDisk
  let agent: AgentProcess

  beforeAll(async () => {
    place = await realpath(await mkdtemp(join(tmpdir(), 'offshoot-power-cut-')))
    disk = await LoggedDisk.make(place, DISK_BYTES)
    await copyBakes(join(place, 'seed'), join(disk.mountPoint, 'agent'))
    const images_dir = await imagesWithDurable(imagesDir, join(place, 'images'))
    agent = await AgentProcess.create(disk.mountPoint, { images_dir, templates: ['minimal', 'durable'] })
    await agent.prepare()
    await disk.unmount()
  })
  afterAll(async () => {
    // For a test that failed in the middle.
    await powerOff().catch(() => undefined)
    await disk.destroy()
  })

  /**
   * Kills everything that writes to the disk, and removes the host state of the agent, because its next run has another
   * id.
   */
  async function powerOff(): Promise<void> {
    await agent.stop('SIGKILL')
    for (const { process: vm } of await agent.vms()) process.kill(vm.pid, 'SIGKILL')
    await eventually('every QEMU gone', async () => (await agent.vms()).length === 0)
    expect(await agent.run('end-all.ts')).toMatchObject({ exitCode: 0 })
    await disk.unmount()
  }

  /** Three concurrent users: a sync by one also writes some unsynced data of the others. */
  async function play(): Promise<OperationHistory[]> {
    await disk.startLogging()
    await agent.start()
    const objects: OperationHistory[] = []
    const endsAtMs = performance.now() + PLAY_MS
    const isOver = () => performance.now() > endsAtMs
    const all = { agent, random, objects, isOver, position: () => disk.position }
    await Promise.all([playSandboxes(all), playVolumes(all), playDurable(all)])
    return objects
  }

  /** Half of the cuts are at answers, the others at random positions. */
  function momentsOf(objects: readonly OperationHistory[], end: number): number[] {
    const answers = objects.flatMap(({ answeredAt }) => answeredAt)
    const count = Math.min(CUTS_PER_PLAY, CUTS)
    return Array.from({ length: count }, (_unused, at) =>
      at % 2 === 0 ? random.pick(answers) : Math.floor(random.fraction() * end),
    )
  }

  /** @returns all differences from the acknowledged state */
  async function lossesAfter(position: number, objects: readonly OperationHistory[]): Promise<string[]> {
    const survival = random.pick([0, 0.5, 1])
    await disk.mountCut(position, () => random.fraction() < survival)
    try {
      await agent.start()
      const found = await lookAt(agent)
      const losses = found.unaccounted
      for (const object of objects) {
        const possible = object.possibleAt(position)
        const is = found.objects.get(object.id) ?? { is: 'absent' }
        if (!possible.some((state) => isAsLeft(object, state, is)))
          losses.push(`${object.kind} ${object.id} is ${JSON.stringify(is)} instead of ${JSON.stringify(possible)}`)
      }
      const readable = objects.filter(({ id }) => !['absent', 'alive'].includes(found.objects.get(id)?.is ?? 'absent'))
      const chosen = random.shuffled(readable).slice(0, READ_PER_CUT)
      // Volumes last, because reading them deletes the hibernated sandboxes that have them.
      for (const object of chosen.toSorted((a, b) => Number(a.kind === 'volume') - Number(b.kind === 'volume'))) {
        const content = await contentFound(object).catch((error: Error) => error.message)
        const possible = object.possibleAt(position).map((state) => state.content ?? '')
        if (!possible.includes(content))
          losses.push(`${object.kind} ${object.id} holds ${content} instead of ${possible.join(' or ')}`)
      }
      return losses.map((loss) => `cut at ${position}, ${survival} of unflushed writes: ${loss}`)
    } finally {
      await powerOff()
    }
  }

  async function contentFound({ kind, id }: OperationHistory): Promise<string> {
    if (kind === 'snapshot') return contentOfSnapshot(agent, id)
    if (kind === 'volume') return contentOfVolume(agent, id)
    const { body } = await agent.act<AgentSandbox & { cold?: boolean }>(id, 'wake')
    if (kind === 'sandbox' && body.cold === true) return 'no memory'
    return contentOf(agent, id)
  }

  it(
    'loses nothing that was acknowledged, and touches nothing else',
    { tags: 'only-once', timeout: 240_000 + (wanted === undefined ? 0 : CUTS * 30_000) },
    async () => {
      const losses: string[] = []
      let cuts = 0
      for (const startedMs = performance.now(); cuts < CUTS && performance.now() - startedMs < BUDGET_MS;) {
        const objects = await play()
        const end = disk.position
        await powerOff()
        for (const position of momentsOf(objects, end)) {
          if (cuts >= CUTS || performance.now() - startedMs > BUDGET_MS) break
          const found = await lossesAfter(position, objects)
          cuts++
          if (wanted !== undefined || found.length > 0)
            console.log(
              `cut ${cuts} at ${position} of ${end}: ${found.length === 0 ? 'nothing lost' : found.join('\n')}`,
            )
          losses.push(...found)
        }
      }
      console.log(`${cuts} power cuts, ${losses.length} losses, seed ${random.seed}`)
      expect(losses).toEqual([])
    },
  )
})

/** Copies the bake of `minimal` from the seed, which the first test that needs it makes. */
async function copyBakes(from: string, to: string): Promise<void> {
  await layOutFromSeed(from, imagesDir, ['minimal'])
  await mkdir(to, { mode: 0o711 })
  for (const name of ['accelerator.json', 'bakes'])
    await promisify(execFile)('cp', ['--archive', '--sparse=always', join(from, 'agent', name), to])
}

/** The state that a restarted agent reports, and the objects on disk that it does not account for. */
async function lookAt(agent: AgentProcess): Promise<{ objects: Map<string, State>; unaccounted: string[] }> {
  const ask = async <Body>(path: string) => (await agent.call<Body>('GET', path, { workspace: null })).body
  const objects = new Map<string, State>()
  for (const { id, status } of (await agent.list()).sandboxes) {
    const archived = await archiveOf(agent, id)
    objects.set(id, { is: status === 'hibernated' ? 'hibernated' : 'alive', ...(archived ? { archived } : {}) })
  }
  for (const { id, origin } of (await ask<AgentSnapshotList>('/v1/snapshots')).snapshots)
    if (origin === 'user') objects.set(id, { is: 'there' })
  for (const { id, size_mb } of (await ask<AgentVolumeList>('/v1/volumes')).volumes)
    objects.set(id, { is: 'there', sizeMb: size_mb })
  const { entries } = await ask<AgentQuarantine>('/v1/quarantine')
  const unaccounted = entries.map(({ state, kind, id, path, reason }) => `${state} ${kind} ${id} at ${path}: ${reason}`)
  for (const folder of ['sandboxes', 'volumes'])
    for (const id of await readdir(join(agent.dataDir, folder)))
      if (!objects.has(id)) unaccounted.push(`${folder}/${id} is left`)
  return { objects, unaccounted }
}

async function archiveOf(agent: AgentProcess, id: string): Promise<string[] | null> {
  const folder = join(agent.dataDir, 'sandboxes', id, 'archive')
  const names = await readdir(folder).catch(() => null)
  if (names === null) return null
  const archived: string[] = []
  for (const file of names.filter((name) => name.endsWith('.zst')).toSorted())
    archived.push(String(await promisify(zstdDecompress)(await readFile(join(folder, file)))).trim())
  return archived
}

/** Whether `found` is what a power cut leaves of `state`. */
function isAsLeft({ kind }: OperationHistory, state: State, found: State): boolean {
  if (kind === 'durable') {
    const left = state.is === 'alive' ? 'hibernated' : state.is
    return found.is === left && (state.archived ?? []).every((name, at) => found.archived?.[at] === name)
  }
  return found.is === state.is && (kind !== 'volume' || state.is === 'absent' || found.sizeMb === state.sizeMb)
}
