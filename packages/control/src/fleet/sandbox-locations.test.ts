import { randomUUID } from 'node:crypto'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { Notifications } from '../platform/db/notifications.ts'
import { SandboxLocations } from './sandbox-locations.ts'

const mine = randomUUID() as WorkspaceId
const id = randomUUID() as SandboxId

function locationsOf(rows: readonly { status: string; workspace_id: string; is_held?: boolean }[]) {
  let questions = 0
  const query = async ({ values }: { values: readonly string[] }) => {
    questions++
    return {
      rows: rows
        .filter(({ workspace_id }) => workspace_id === values[1])
        .map((row) => ({ id: values[0], agent_id: 'a', ...row })),
    }
  }
  const listeners: ((id: string | null) => void)[] = []
  const listen: Notifications['listen'] = (_channel, listener) => {
    listeners.push(listener)
    return () => undefined
  }
  const locations = new SandboxLocations({ query } as unknown as pg.Pool, { listen })
  return { locations, questions: () => questions, tell: (moved: string | null) => listeners[0]?.(moved) }
}

describe('SandboxLocations', () => {
  it.each(['running', 'paused', 'hibernated'])('asks once for one that is %s', async (status) => {
    const { locations, questions } = locationsOf([{ status, workspace_id: mine }])
    const location = { id, workspace_id: mine, agent_id: 'a', status }
    expect([await locations.find(id, mine), await locations.find(id, mine)]).toEqual([location, location])
    expect(questions()).toBe(1)
  })

  it.each([id, null])('asks again after the notice of a move, or of lost notices: %s', async (told) => {
    const { locations, questions, tell } = locationsOf([{ status: 'running', workspace_id: mine }])
    await locations.find(id, mine)
    tell(randomUUID())
    await locations.find(id, mine)
    expect(questions()).toBe(1)
    tell(told)
    await locations.find(id, mine)
    expect(questions()).toBe(2)
  })

  it('keeps nothing that it read while a notice came', async () => {
    const { locations, questions, tell } = locationsOf([{ status: 'running', workspace_id: mine }])
    const reading = locations.find(id, mine)
    tell(id)
    await reading
    await locations.find(id, mine)
    expect(questions()).toBe(2)
  })

  it('asks again for one that a stored copy keeps from waking', async () => {
    const { locations, questions } = locationsOf([{ status: 'hibernated', workspace_id: mine, is_held: true }])
    expect(await locations.find(id, mine)).toMatchObject({ is_held: true })
    expect(await locations.find(id, mine)).toMatchObject({ is_held: true })
    expect(questions()).toBe(2)
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
