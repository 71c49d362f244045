import { randomUUID } from 'node:crypto'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { SandboxLocations } from './sandbox-locations.ts'

const mine = randomUUID() as WorkspaceId
const id = randomUUID() as SandboxId

function locationsOf(rows: readonly { status: string; workspace_id: string }[]) {
  let questions = 0
  const query = async ({ values }: { values: readonly string[] }) => {
    questions++
    return {
      rows: rows.filter(({ workspace_id }) => workspace_id === values[1]).map((row) => ({ agent_id: 'a', ...row })),
    }
  }
  const locations = new SandboxLocations({ query } as unknown as pg.Pool)
  return { locations, questions: () => questions }
}

describe('SandboxLocations', () => {
  it.each(['running', 'paused', 'hibernated'])('asks once for one that is %s', async (status) => {
    const { locations, questions } = locationsOf([{ status, workspace_id: mine }])
    const location = { id, workspace_id: mine, agent_id: 'a', status }
    expect([await locations.find(id, mine), await locations.find(id, mine)]).toEqual([location, location])
    expect(questions()).toBe(1)
  })

  it.each(['creating', 'failed'])('asks again for one that is %s', async (status) => {
    const { locations, questions } = locationsOf([{ status, workspace_id: mine }])
    expect(await locations.find(id, mine)).toMatchObject({ status })
    expect(await locations.find(id, mine)).toMatchObject({ status })
    expect(questions()).toBe(2)
  })

  it('shows a known location to no other workspace', async () => {
    const { locations } = locationsOf([{ status: 'running', workspace_id: mine }])
    const theirs = randomUUID() as WorkspaceId
    expect(await locations.find(id, theirs)).toBeNull()
    expect(await locations.find(id, mine)).not.toBeNull()
    expect(await locations.find(id, theirs)).toBeNull()
  })

  it('asks again for one that was forgotten', async () => {
    const { locations, questions } = locationsOf([{ status: 'running', workspace_id: mine }])
    await locations.find(id, mine)
    locations.forget(id)
    await locations.find(id, mine)
    expect(questions()).toBe(2)
  })
})
