import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SpentCredit } from './spent-credit.ts'

const HOUR_MS = 3_600_000

describe('spent credit', () => {
  let folder: string
  let path: string
  const id = randomUUID() as WorkspaceId
  const entry = (until: number) => ({
    workspace_id: id,
    credit_usd: 5.4,
    cost_usd_used: 5.41,
    until: new Date(Date.now() + until).toISOString(),
  })

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-credit-'))
    path = join(folder, 'spent-credit.json')
  })

  afterEach(() => rm(folder, { recursive: true }))

  it('refuses no workspace before control has sent a list', async () => {
    const credit = await SpentCredit.open(path, { error: () => undefined })
    expect(() => credit.refuseIfSpent(id)).not.toThrow()
  })

  it('refuses a workspace with its figures, also after a restart, until control sends another list', async () => {
    const credit = await SpentCredit.open(path, { error: () => undefined })
    await credit.replace({ workspaces: [entry(HOUR_MS)] })
    for (const each of [credit, await SpentCredit.open(path, { error: () => undefined })]) {
      expect(() => each.refuseIfSpent(id)).toThrow(
        expect.objectContaining({
          status: 402,
          body: { error: 'monthly free credit exhausted', credit_usd: 5.4, cost_usd_used: 5.41 },
        }),
      )
      expect(() => each.refuseIfSpent(randomUUID() as WorkspaceId)).not.toThrow()
    }
    await credit.replace({ workspaces: [] })
    expect(() => credit.refuseIfSpent(id)).not.toThrow()
    expect(await readdir(folder)).toEqual(['spent-credit.json'])
  })

  it('expires', async () => {
    const credit = await SpentCredit.open(path, { error: () => undefined })
    await credit.replace({ workspaces: [entry(-1)] })
    expect(() => credit.refuseIfSpent(id)).not.toThrow()
  })

  it('keeps the later of two concurrent lists', async () => {
    const credit = await SpentCredit.open(path, { error: () => undefined })
    await Promise.all([credit.replace({ workspaces: [entry(HOUR_MS)] }), credit.replace({ workspaces: [] })])
    expect(() => credit.refuseIfSpent(id)).not.toThrow()
  })
})
