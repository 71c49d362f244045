// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { Deadline } from '@offshoot/kit/deadline'
import { describe, expect, it, vi } from 'vitest'
import type { KnownAgent } from '../agent-directory.ts'
import { AgentRefused } from '../agent-failure.ts'
import type { CreateOutcome } from '../create-outcome.ts'
import { type Candidate, candidates } from './candidates.ts'
import { place } from './place.ts'

function agent(
  id: string,
  { available = 1000, committed = 0, promisedMib = 0, isReachable = true, templates = ['base'], state = 'ok' } = {},
): Candidate {
  const memory = { total: 20_000, available, committed, commit_limit: 20_000 }
  const info = {
    agent_id: id,
    memory_mib: memory,
    disk: { state },
    templates: templates.map((name) => ({ name })),
  }
  // Only the fields of an agent that the scheduler reads.
  return { info, isReachable, promisedMib, client: {} } as unknown as Candidate
}

const ids = (agents: readonly KnownAgent[]) => agents.map(({ info }) => info?.agent_id)
const sandbox = { id: 'made' } as AgentSandbox
const outcomes = {
  created: { kind: 'created', sandbox },
  'no-room': { kind: 'no-room', error: new Error('507') },
  refused: { kind: 'refused', error: new Error('500') },
  unreachable: { kind: 'unreachable', mayHaveBegun: false, error: new Error('reset') },
} as const satisfies Record<CreateOutcome['kind'], CreateOutcome>

describe('candidates', () => {
  it('are those with the template, most memory first, silent ones last', () => {
    const agents = [
      agent('little', { available: 100 }),
      agent('silent', { available: 9000, isReachable: false }),
      agent('other', { templates: ['minimal'] }),
      agent('much', { available: 500 }),
      agent('promised', { available: 800, promisedMib: 500 }),
    ]
    expect(ids(candidates(agents, 'base'))).toEqual(['much', 'promised', 'little', 'silent'])
  })

  it('come later if their VMs may use the memory that is free now', () => {
    const agents = [agent('promising', { available: 9000, committed: 19_500 }), agent('free', { available: 2000 })]
    expect(ids(candidates(agents, 'base'))).toEqual(['free', 'promising'])
  })

  it('come last if their disk refuses new objects', () => {
    const agents = [agent('full', { available: 9000, state: 'refusing' }), agent('free', { available: 500 })]
    expect(ids(candidates(agents, 'base'))).toEqual(['free', 'full'])
  })

  it('change places by chance if they have about as much memory, and only then', () => {
    const agents = [agent('a', { available: 1000 }), agent('b', { available: 1010 }), agent('c', { available: 500 })]
    const draw = (...chances: number[]) => ids(candidates(agents, 'base', () => chances.shift() ?? 0))
    expect(draw(0, 0, 0)).toEqual(['b', 'a', 'c'])
    expect(draw(0, 0.5, 0)).toEqual(['a', 'b', 'c'])
    expect(draw(0.99, 0.99, 0)).toEqual(['b', 'a', 'c'])
  })

  it('are neither cordoned nor lost', () => {
    const agents = [{ ...agent('cordoned'), isCordoned: true }, { ...agent('lost'), isLost: true }, agent('open')]
    expect(ids(candidates(agents, 'base'))).toEqual(['open'])
  })

  it('are empty before an agent has sent its id', () => {
    expect(candidates([{ ...agent('x'), info: null }], 'base')).toEqual([])
  })
})

describe('place', () => {
  const run = async (...kinds: CreateOutcome['kind'][]) => {
    const asked: string[] = []
    const agents = kinds.map((_, n) => agent(`${n}`))
    const placed = await place(agents, 512, async (each) => {
      expect(each.promisedMib).toBe(512)
      asked.push(each.info.agent_id)
      return outcomes[kinds[asked.length - 1] ?? 'refused']
    }).finally(() => expect(agents.every(({ promisedMib }) => promisedMib === 0)).toBe(true))
    return { placed, asked }
  }

  it('asks the next until one has made it', async () => {
    const { placed, asked } = await run('no-room', 'unreachable', 'created', 'created')
    expect(asked).toEqual(['0', '1', '2'])
    expect(placed).toEqual({ agentId: '2', sandbox })
  })

  it('asks three hosts at most', async () => {
    await expect(run('no-room', 'no-room', 'no-room', 'created')).rejects.toMatchObject({ status: 507 })
  })

  it('asks no further host once its deadline has passed', async () => {
    const asked: string[] = []
    const over = Deadline.after(5, 'placement')
    const placing = place(
      [agent('slow'), agent('never')],
      512,
      async ({ info }) => {
        asked.push(info.agent_id)
        await new Promise<void>((resolve) => over.signal.addEventListener('abort', () => resolve()))
        await vi.waitUntil(() => over.remainingMs === 0)
        return outcomes.unreachable
      },
      over,
    )
    await expect(placing).rejects.toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    expect(asked).toEqual(['slow'])
  })

  it('gives each host the time that is left', async () => {
    const given: number[] = []
    await place(
      [agent('first'), agent('second')],
      512,
      async (_agent, timeoutMs) => {
        given.push(timeoutMs)
        return given.length === 1 ? outcomes['no-room'] : outcomes.created
      },
      Deadline.after(60_000, 'placement'),
    )
    expect(given.every((ms, at) => ms > 0 && ms <= (given[at - 1] ?? 60_000))).toBe(true)
  })

  const refusal = (error: string): CreateOutcome => {
    const asked = { method: 'POST', path: '/v1/sandboxes' }
    return { kind: 'no-room', error: new AgentRefused(asked, 507, JSON.stringify({ error })) }
  }

  it.each([
    [['no disk', 'no disk'], 'no disk'],
    [['no disk', 'no memory'], 'insufficient host memory for sandbox'],
  ])('after refusals that say %j it says %j', async (texts, error) => {
    const outcomesInTurn = texts.map(refusal)
    const placing = place([agent('0'), agent('1')], 512, async () => outcomesInTurn.shift() ?? outcomes.refused)
    await expect(placing).rejects.toMatchObject({ status: 507, body: { error } })
  })

  it.each([
    [[], 502, 'no available compute node'],
    [['no-room', 'no-room'], 507, 'insufficient host memory for sandbox'],
    [['no-room', 'unreachable'], 502, 'no available compute node'],
    [['unreachable', 'unreachable'], 502, 'agent unreachable'],
    [['no-room', 'refused'], 500, 'sandbox could not be started'],
    [['refused', 'unreachable'], 500, 'sandbox could not be started'],
  ] as const)('after %j answers %d', async (kinds, status, error) => {
    await expect(run(...kinds)).rejects.toMatchObject({ status, body: { error } })
  })
})
