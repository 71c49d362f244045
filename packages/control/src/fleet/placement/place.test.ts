// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { describe, expect, it } from 'vitest'
import type { KnownAgent } from '../agent-directory.ts'
import { AgentRefused } from '../agent-failure.ts'
import type { CreateOutcome } from '../create-outcome.ts'
import { type Candidate, candidates } from './candidates.ts'
import { place } from './place.ts'

function agent(
  id: string,
  { available = 1000, promisedMib = 0, isReachable = true, templates = ['base'] } = {},
): Candidate {
  const info = { agent_id: id, memory_mib: { total: 4000, available }, templates: templates.map((name) => ({ name })) }
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
    const { placed, asked } = await run('no-room', 'unreachable', 'refused', 'created', 'created')
    expect(asked).toEqual(['0', '1', '2', '3'])
    expect(placed).toEqual({ agentId: '3', sandbox })
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
