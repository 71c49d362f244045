import { tmpdir } from 'node:os'
import type { DiskState } from '@offshoot/contract/agent-disk'
import { describe, expect, it } from 'vitest'
import { DiskRoom, marksOf, nextState } from './disk-room.ts'

const MIB = 1024 ** 2
const GIB = 1024 ** 3
const DEFAULTS = { warn_below_mib: null, refuse_below_mib: null }

describe('watermarks', () => {
  it.each([
    [400 * MIB, 20 * MIB, 40 * MIB],
    [40 * GIB, 2 * GIB, 4 * GIB],
    [4096 * GIB, 4 * GIB, 16 * GIB],
  ])('of a file system of %d bytes are a share of it, up to what is enough', (total, refuseBytes, warnBytes) => {
    expect(marksOf(total, DEFAULTS)).toEqual({ refuseBytes, warnBytes })
  })

  it('have their configured values, and the warning comes no later than the refusal', () => {
    expect(marksOf(GIB, { warn_below_mib: 3, refuse_below_mib: 2 })).toEqual({
      refuseBytes: 2 * MIB,
      warnBytes: 3 * MIB,
    })
    expect(marksOf(GIB, { warn_below_mib: 1, refuse_below_mib: 2 })).toMatchObject({ warnBytes: 2 * MIB })
    expect(marksOf(GIB, { warn_below_mib: 0, refuse_below_mib: 0 })).toEqual({ refuseBytes: 0, warnBytes: 0 })
  })
})

describe('the state of a disk', () => {
  const marks = { refuseBytes: 100, warnBytes: 200 }
  const states: DiskState[] = ['ok', 'low', 'refusing']

  it('is worse below each watermark', () => {
    for (const before of states) {
      expect(nextState(before, 99, marks)).toBe('refusing')
      expect(nextState(before, 250, marks)).toBe('ok')
    }
    expect([nextState('ok', 100, marks), nextState('ok', 199, marks), nextState('ok', 200, marks)]).toEqual([
      'low',
      'low',
      'ok',
    ])
  })

  it('is better only well above it', () => {
    expect([100, 124, 125, 249].map((free) => nextState('refusing', free, marks))).toEqual([
      'refusing',
      'refusing',
      'low',
      'low',
    ])
    expect([200, 249].map((free) => nextState('low', free, marks))).toEqual(['low', 'low'])
  })

  it('is never worse without watermarks', () => {
    for (const before of states) expect(nextState(before, 0, { refuseBytes: 0, warnBytes: 0 })).toBe('ok')
  })
})

describe('the room on a disk', () => {
  const said: string[] = []
  const say = (_room: object, what?: string) => void said.push(what ?? '')
  const roomOf = (folder: string, refuse_below_mib: number) =>
    new DiskRoom(folder, { warn_below_mib: null, refuse_below_mib }, { info: say, warn: say })

  it('is refused with the name of the resource, and the refusal is logged once', async () => {
    const room = roomOf(tmpdir(), 2 ** 40)
    for (const wanted of ['sandbox', 'template', 'volume'] as const) {
      const refusal = { status: 507, body: { error: `insufficient host storage for ${wanted}` } }
      await expect(room.admit(wanted)).rejects.toMatchObject(refusal)
    }
    expect(said).toEqual(['the disk has too little room: what takes more is refused'])
    await roomOf(tmpdir(), 0).admit('sandbox')
  })

  it('is refused if the free space is unknown', async () => {
    await expect(roomOf('/nowhere', 0).admit('sandbox')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
