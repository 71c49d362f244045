import { randomUUID } from 'node:crypto'
import type { SandboxId, VolumeId } from '@offshoot/contract/ids'
import { beforeEach, describe, expect, it } from 'vitest'
import { Holders } from './holders.ts'
import type { VolumeRecord } from './volume-record.ts'

const volume = (name: string): VolumeRecord => ({
  id: randomUUID() as VolumeId,
  workspace_id: randomUUID(),
  name,
  size_mb: 1,
  is_growing: false,
  was_attached: false,
  created_at: new Date().toISOString(),
})
const sandbox = (id: string) => ({ sandboxId: id as SandboxId })
const [data, more] = [volume('data'), volume('more')]
const writing = (of: VolumeRecord) => ({ volume: of, isReadOnly: false })
const reading = (of: VolumeRecord) => ({ volume: of, isReadOnly: true })

describe('holders', () => {
  let holders: Holders
  beforeEach(() => {
    holders = new Holders()
  })

  it('are one writer, and a refusal names it', () => {
    holders.claim([writing(data)], sandbox('a'))
    for (const claim of [writing(data), reading(data)]) {
      expect(() => holders.claim([claim], sandbox('b'))).toThrow('volume data is attached to sandbox a')
    }
    expect(holders.attachments(data.id)).toEqual([{ sandbox_id: 'a', read_only: false }])
  })

  it('are any number of readers, and no writer meanwhile', () => {
    for (const id of ['a', 'b', 'c']) holders.claim([reading(data)], sandbox(id))
    expect(() => holders.claim([writing(data)], sandbox('d'))).toThrow('volume data is read by sandbox a')
    for (const id of ['a', 'b', 'c']) holders.release(sandbox(id))
    holders.claim([writing(data)], sandbox('d'))
    expect(holders.of(data.id)).toHaveLength(1)
  })

  it('get all volumes that they claim, or none', () => {
    holders.claim([writing(more)], sandbox('a'))
    expect(() => holders.claim([writing(data), writing(more)], sandbox('b'))).toThrow('volume more is attached')
    expect(holders.of(data.id)).toEqual([])
  })

  it('are the agent while it changes a volume, and only the same operation releases it', () => {
    const work = { work: 'changed' } as const
    holders.claim([writing(data)], work)
    expect(() => holders.claim([reading(data)], sandbox('a'))).toThrow('volume data is being changed')
    holders.release({ work: 'changed' })
    holders.release(sandbox('a'))
    expect(holders.of(data.id)).toHaveLength(1)
    holders.release(work)
    expect(holders.attachments(data.id)).toEqual([])
    holders.claim([writing(data)], sandbox('a'))
    expect(holders.of(data.id)).toHaveLength(1)
  })
})
