import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Archive, OtherContent } from './archive.ts'
import { GAP } from './spool.ts'

const [FIRST, SECOND, THIRD] = ['A', 'B', 'C'].map((end) => `00000001000000000000000${end}`) as [string, string, string]

let place: string
let archive: Archive

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'offshoot-archive-'))
  archive = await Archive.open(join(place, 'source'))
  for (const name of [SECOND, FIRST]) await archive.put(name, Buffer.from(name))
})
afterEach(async () => {
  await rm(place, { recursive: true })
})

const packed = async (name: string) => (await archive.readPacked(name)) ?? expect.fail('no such file')

describe('an archive', () => {
  it('lists its files in the order in which they came, a few at a time', async () => {
    const first = archive.filesAfter('', 1)
    const second = archive.filesAfter(first.cursor, 1)
    expect([first.names, second.names, archive.filesAfter(second.cursor, 1).names]).toEqual([[SECOND], [FIRST], []])
    await archive.put(THIRD, Buffer.from(''))
    await archive.prune(0)
    expect(archive.filesAfter(second.cursor, 9).names).toEqual([THIRD])
    await archive.markGap()
    await archive.markGap()
    expect(archive.filesAfter(second.cursor, 9).names).toEqual([THIRD, GAP])
  })

  it('lists all of them for a cursor from before it was opened', async () => {
    const { cursor } = archive.filesAfter('', 9)
    archive = await Archive.open(join(place, 'source'))
    for (const unknown of [cursor, 'x', '/', 'x/-1', `${cursor}x`])
      expect(archive.filesAfter(unknown, 9).names.toSorted()).toEqual([FIRST, SECOND])
  })

  it('takes files of another one, with their time, and never another content', async () => {
    const other = await Archive.open(join(place, 'other'))
    for (let times = 0; times < 2; times++) await other.putPacked(FIRST, await packed(FIRST), 1_000_000)
    await expect(other.putPacked(FIRST, await packed(SECOND), 1_000_000)).rejects.toThrow(OtherContent)
    await expect(other.putPacked(SECOND, Buffer.from('not compressed'), 1_000_000)).rejects.toMatchObject({
      code: 'ZSTD_error_prefix_unknown',
    })
    for (const each of [other, await Archive.open(join(place, 'other'))])
      expect([each.names, each.lastAtMs, String(await each.read(FIRST))]).toEqual([[FIRST], 1_000_000, FIRST])
    await other.prune(2_000_000)
    expect(other.names).toEqual([])
  })
})
