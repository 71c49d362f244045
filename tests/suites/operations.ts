import type { Answer } from '../setup/http.ts'
import type { Offshoot } from '../setup/offshoot.ts'
import type { Member, Population, Status } from './population.ts'

/** One user operation, prepared so that it can begin at once. */
export interface Operation {
  readonly begin: () => Promise<Answer>
  /** The answer was a success: all effects must be present. */
  readonly acknowledged: (answer: Answer) => void
  /** There was no success: the effects must be present in full, or not at all. */
  readonly interrupted: () => void
}

interface World {
  readonly offshoot: Offshoot
  readonly population: Population
  readonly round: number
}

async function transition(population: Population, from: Status, action: string, to: Status): Promise<Operation> {
  const member = await population.chosen(from)
  return {
    begin: () => population.post(member.id, action),
    acknowledged: () => (member.statuses = [to]),
    interrupted: () => (member.statuses = [from, to]),
  }
}

function contentsOf({ contents: [contents = ''] }: Member): string {
  return contents
}

async function fork(population: Population, action: string, body?: object): Promise<Operation> {
  const parent = await population.chosen('running')
  return {
    begin: () => population.post(parent.id, action, body),
    acknowledged: ({ body: { children } }) => {
      for (const { id } of children as { id: string }[]) population.add(id, contentsOf(parent))
    },
    interrupted: () => (population.strayContents = contentsOf(parent)),
  }
}

export const OPERATIONS: Record<string, (world: World) => Operation | Promise<Operation>> = {
  create: ({ offshoot, population }) => ({
    begin: () => offshoot.request('POST', '/v1/sandboxes', { body: { template: 'minimal' } }),
    acknowledged: ({ body: { id } }) => population.add(id, ''),
    interrupted: () => (population.strayContents = ''),
  }),
  pause: ({ population }) => transition(population, 'running', 'pause', 'paused'),
  resume: ({ population }) => transition(population, 'paused', 'resume', 'running'),
  hibernate: ({ population }) => transition(population, 'running', 'hibernate', 'hibernated'),
  wake: ({ population }) => transition(population, 'hibernated', 'wake', 'running'),
  fork: ({ population }) => fork(population, 'fork'),
  'fork-tree': ({ population }) => fork(population, 'fork-tree', { count: 3 }),
  snapshot: async ({ population }) => {
    const member = await population.chosen('running')
    const contents = contentsOf(member)
    return {
      begin: () => population.post(member.id, 'snapshots'),
      acknowledged: ({ body: { id } }) => population.snapshots.set(id, { id, contents }),
      interrupted: () => (population.strayContents = contents),
    }
  },
  delete: async ({ offshoot, population }) => {
    const member = await population.chosen('running')
    return {
      begin: () => offshoot.request('DELETE', `/v1/sandboxes/${member.id}`),
      acknowledged: () => population.members.delete(member.id),
      interrupted: () => (member.mayBeGone = true),
    }
  },
  exec: async ({ population, round }) => {
    const member = await population.chosen('running')
    const contents = `round-${round}`
    return {
      begin: () => population.write(member.id, contents),
      acknowledged: () => (member.contents = [contents]),
      interrupted: () => (member.contents = [contentsOf(member), '', contents]),
    }
  },
}
