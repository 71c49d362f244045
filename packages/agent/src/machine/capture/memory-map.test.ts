import { describe, expect, it } from 'vitest'
import { placeBase } from './memory-base.ts'
import { findGuestMemory, parseMaps } from './memory-map.ts'

const MAPS = `
555500000000-555500001000 r-xp 00000000 fe:00 99                         /usr/bin/qemu-system-x86_64
7f0000000000-7f0000010000 rw-p 00000000 fe:00 7                          /data/bakes/base/1/memory
7f0000010000-7f0000012000 rw-p 00003000 fe:00 8                          /data/snapshots/2/pages (deleted)
7f0000012000-7f0000020000 rw-p 00012000 fe:00 7                          /data/bakes/base/1/memory
7f0000020000-7f0000021000 ---p 00000000 00:00 0
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
`
const [START, BYTES] = [0x7f00_0000_0000, 0x2_0000]

describe('the memory of a guest', () => {
  it('is found by the file of its bake, with the mappings over it', () => {
    expect(findGuestMemory(parseMaps(MAPS), 7, BYTES)).toEqual({
      start: START,
      bytes: BYTES,
      foreign: [{ start: START + 0x1_0000, end: START + 0x1_2000, offset: 0x3000, inode: 8 }],
    })
  })

  it('is found if a checkpoint covers its beginning, or all of it', () => {
    const beginning = MAPS.replace(/.*r?w-p 00000000 fe:00 7 .*/, '7f0000000000-7f0000010000 rw-p 00000000 fe:00 8 /p')
    expect(findGuestMemory(parseMaps(beginning), 7, BYTES)).toMatchObject({ start: START })
    const whole = '7f0000000000-7f0000020000 rw-p 00000000 fe:00 8 /data/snapshots/2/pages'
    const foreign = [{ start: START, end: START + BYTES, offset: 0, inode: 8 }]
    expect(findGuestMemory(parseMaps(whole), 7, BYTES)).toEqual({ start: START, bytes: BYTES, foreign })
  })

  it('is found if several checkpoints cover all of it', () => {
    const maps = [
      '7f0000000000-7f0000010000 rw-p 00001000 fe:00 9 /p',
      '7f0000010000-7f0000020000 rw-p 00000000 fe:00 8 /p',
    ].join('\n')
    const bases = [placeBase(8, [{ firstPage: 16, pages: 16 }])]
    expect(findGuestMemory(parseMaps(maps), 7, BYTES, bases)).toMatchObject({ start: START })
  })

  it.each([
    ['missing', '555500000000-555500001000 r-xp 00000000 fe:00 99 /usr/bin/qemu', 'does not map'],
    ['not whole', MAPS.replace(/.*fe:00 8.*\n/, ''), 'should be'],
  ])('is refused if it is %s', (_what, maps, message) => {
    expect(() => findGuestMemory(parseMaps(maps), 7, BYTES)).toThrow(message)
  })
})
