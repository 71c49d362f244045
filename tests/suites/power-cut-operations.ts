import { randomUUID } from 'node:crypto'
import type { AgentProcess, Answer } from '@offshoot/agent/test/agent-process'
import type { SeededRandom } from '../setup/seeded-random.ts'
import { OperationHistory, type State } from './operation-history.ts'

const FILE = '/root/kept'
const MOUNT = 'mkdir -p /data && mount /dev/vdb /data'
const ON_VOLUME = '/data/kept'
const SPOOL = '/var/spool/offshoot/ready'

export interface Play {
  readonly agent: AgentProcess
  readonly random: SeededRandom
  /** Current position in the disk's write log. */
  readonly position: () => number
  /** All objects that ever existed. */
  readonly objects: OperationHistory[]
  readonly isOver: () => boolean
}

/** Creates, pauses, resumes, hibernates, wakes, snapshots, forks and deletes ordinary sandboxes. */
export async function playSandboxes(play: Play): Promise<void> {
  const { agent, random, position, objects, isOver } = play
  const live: OperationHistory[] = []
  const snapshots: OperationHistory[] = []
  const act = (object: OperationHistory, change: Partial<State>, what: string) =>
    object.change(change, position, () => expected(agent.act(object.id, what)))
  while (!isOver()) {
    const chosen = live.length === 0 ? undefined : random.pick(live)
    if (chosen === undefined || (live.length < 3 && random.fraction() < 0.4)) {
      const made = begin(objects, 'sandbox')
      await made.change({ is: 'alive', content: '' }, position, () => expected(agent.create(made.id)))
      live.push(made)
    } else if (chosen.now.is === 'hibernated') {
      if (random.fraction() < 0.7) await act(chosen, { is: 'alive' }, 'wake')
      else await remove(play, chosen, live)
    } else {
      const what = random.pick(['write', 'pause', 'hibernate', 'hibernate', 'snapshot', 'fork', 'delete'] as const)
      if (what === 'write') await write(play, chosen, FILE, false)
      if (what === 'pause') for (const step of ['pause', 'resume']) await act(chosen, {}, step)
      if (what === 'hibernate') await act(chosen, { is: 'hibernated' }, 'hibernate')
      if (what === 'snapshot') await snapshot(play, chosen, snapshots)
      if (what === 'fork') await fork(play, chosen, live)
      if (what === 'delete') await remove(play, chosen, live)
    }
  }
}

/** Creates, writes, grows and deletes volumes. */
export async function playVolumes({ agent, position, objects, random, isOver, ...play }: Play): Promise<void> {
  while (!isOver()) {
    const volume = begin(objects, 'volume')
    const body = { id: volume.id, name: volume.id, size_mb: 16 }
    await volume.change({ is: 'there', content: '', sizeMb: 16 }, position, () =>
      expected(agent.call('POST', '/v1/volumes', { body })),
    )
    const holder = begin(objects, 'sandbox')
    const volumes = [{ id: volume.id, read_only: false }]
    const create = { id: holder.id, template: 'minimal', env: {}, volumes }
    await holder.change({ is: 'alive', content: '' }, position, () =>
      expected(agent.call('POST', '/v1/sandboxes', { body: create })),
    )
    await agent.sh(holder.id, MOUNT)
    const all = { agent, position, objects, random, isOver, ...play }
    await write(all, volume, ON_VOLUME, true, holder.id)
    await volume.change({ sizeMb: 24 }, position, () =>
      expected(agent.call('PATCH', `/v1/volumes/${volume.id}`, { body: { size_mb: 24 } })),
    )
    await holder.change({ is: 'hibernated' }, position, () => expected(agent.act(holder.id, 'hibernate')))
    await holder.change({ is: 'alive' }, position, () => expected(agent.act(holder.id, 'wake')))
    await write(all, volume, ON_VOLUME, true, holder.id)
    await holder.change({ is: 'absent' }, position, () => expected(agent.delete(holder.id)))
    if (random.fraction() < 0.5) {
      await volume.change({ is: 'absent' }, position, () => expected(agent.call('DELETE', `/v1/volumes/${volume.id}`)))
    }
  }
}

/** A durable sandbox, whose disk survives its VM as a database's does. It syncs and archives files. */
export async function playDurable(play: Play): Promise<void> {
  const { agent, position, objects, random, isOver } = play
  const durable = begin(objects, 'durable')
  const snapshots: OperationHistory[] = []
  await durable.change({ is: 'alive', content: '', archived: [] }, position, () =>
    expected(agent.create(durable.id, {}, 'durable')),
  )
  for (let segment = 1; !isOver(); segment++) {
    await write(play, durable, FILE, true)
    const name = segment.toString(16).toUpperCase().padStart(24, '0')
    await agent.sh(durable.id, `mkdir -p ${SPOOL} && echo ${name} > ${SPOOL}/${name}`)
    await durable.change({ archived: [...(durable.now.archived ?? []), name] }, position, () =>
      expected(agent.act(durable.id, 'archive/take', { name })),
    )
    const what = random.pick(['snapshot', 'hibernate', 'nothing'] as const)
    if (what === 'snapshot') await snapshot(play, durable, snapshots)
    if (what !== 'hibernate') continue
    await durable.change({ is: 'hibernated' }, position, () => expected(agent.act(durable.id, 'hibernate')))
    await durable.change({ is: 'alive' }, position, () => expected(agent.act(durable.id, 'wake')))
  }
}

/** Content of a sandbox's file. */
export async function contentOf(agent: AgentProcess, id: string): Promise<string> {
  return agent.sh(id, `[ ! -e ${FILE} ] || cat ${FILE}`)
}

/** Content of a volume, read by a new sandbox. */
export async function contentOfVolume(agent: AgentProcess, volume: string): Promise<string> {
  const id = randomUUID()
  const body = { id, template: 'minimal', env: {}, volumes: [{ id: volume, read_only: false }] }
  const create = () => agent.call<{ attached_to?: string }>('POST', '/v1/sandboxes', { body })
  const { body: answer } = await create()
  // A hibernated sandbox keeps its volumes attached, so it must be deleted first.
  if (answer.attached_to !== undefined) {
    await expected(agent.delete(answer.attached_to))
    await expected(create())
  }
  const content = await agent.sh(id, `${MOUNT}; [ ! -e ${ON_VOLUME} ] || cat ${ON_VOLUME}`)
  await expected(agent.delete(id))
  return content
}

/** Content of a sandbox restored from the snapshot. */
export async function contentOfSnapshot(agent: AgentProcess, snapshot: string): Promise<string> {
  const id = randomUUID()
  const body = { id, template: '', env: {}, snapshot_id: snapshot }
  await expected(agent.call('POST', '/v1/sandboxes', { body }))
  const content = await contentOf(agent, id)
  await expected(agent.delete(id))
  return content
}

function begin(objects: OperationHistory[], kind: OperationHistory['kind']): OperationHistory {
  const object = new OperationHistory(kind, randomUUID())
  objects.push(object)
  return object
}

async function write(
  { agent, position }: Play,
  object: OperationHistory,
  file: string,
  isSynced: boolean,
  inside = object.id,
): Promise<void> {
  const content = randomUUID()
  await object.change({ content }, position, () =>
    agent.sh(inside, `echo ${content} > ${file}${isSynced ? ' && sync' : ''}`),
  )
}

/** Takes a snapshot; keeps the last two. */
async function snapshot(
  { agent, position, objects }: Play,
  of: OperationHistory,
  kept: OperationHistory[],
): Promise<void> {
  const made = begin(objects, 'snapshot')
  kept.push(made)
  const { content = '' } = of.now
  await made.change({ is: 'there', content }, position, () => expected(agent.act(of.id, 'snapshots', { id: made.id })))
  const old = kept.length > 2 ? kept.shift() : undefined
  await old?.change({ is: 'absent' }, position, () => expected(agent.call('DELETE', `/v1/snapshots/${old.id}`)))
}

async function fork({ agent, position, objects }: Play, of: OperationHistory, live: OperationHistory[]): Promise<void> {
  const child = begin(objects, 'sandbox')
  const { content = '' } = of.now
  const body = { snapshot_id: randomUUID(), children: [{ id: child.id, index: 0 }] }
  await child.change({ is: 'alive', content }, position, () => expected(agent.act(of.id, 'fork', body)))
  live.push(child)
}

async function remove({ agent, position }: Play, object: OperationHistory, live: OperationHistory[]): Promise<void> {
  live.splice(live.indexOf(object), 1)
  await object.change({ is: 'absent' }, position, () => expected(agent.delete(object.id)))
}

async function expected(asked: Promise<Answer<unknown>>): Promise<void> {
  const { status, body } = await asked
  if (status >= 300) throw new Error(`the agent answered ${status}: ${JSON.stringify(body)}`)
}
