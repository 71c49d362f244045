import { randomUUID } from 'node:crypto'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { SandboxPlaces } from './sandbox-places.ts'

const mine = randomUUID() as WorkspaceId
const id = randomUUID() as SandboxId

function placesOf(rows: readonly { status: string; workspace_id: string }[]) {
  let questions = 0
  const query = async ({ values }: { values: readonly string[] }) => {
    questions++
    return {
      rows: rows.filter(({ workspace_id }) => workspace_id === values[1]).map((row) => ({ agent_id: 'a', ...row })),
    }
  }
  const places = new SandboxPlaces({ query } as unknown as pg.Pool)
  return { places, questions: () => questions }
}

describe('SandboxPlaces', () => {
  it.each(['running', 'paused', 'hibernated'])('asks once for one that is %s', async (status) => {
    const { places, questions } = placesOf([{ status, workspace_id: mine }])
    const place = { id, workspace_id: mine, agent_id: 'a', status }
    expect([await places.find(id, mine), await places.find(id, mine)]).toEqual([place, place])
    expect(questions()).toBe(1)
  })

  it.each(['creating', 'failed'])('asks again for one that is %s', async (status) => {
    const { places, questions } = placesOf([{ status, workspace_id: mine }])
    expect(await places.find(id, mine)).toMatchObject({ status })
    expect(await places.find(id, mine)).toMatchObject({ status })
    expect(questions()).toBe(2)
  })

  it('shows a known place to no other workspace', async () => {
    const { places } = placesOf([{ status: 'running', workspace_id: mine }])
    const theirs = randomUUID() as WorkspaceId
    expect(await places.find(id, theirs)).toBeNull()
    expect(await places.find(id, mine)).not.toBeNull()
    expect(await places.find(id, theirs)).toBeNull()
  })

  it('asks again for one that was forgotten', async () => {
    const { places, questions } = placesOf([{ status: 'running', workspace_id: mine }])
    await places.find(id, mine)
    places.forget(id)
    await places.find(id, mine)
    expect(questions()).toBe(2)
  })
})
