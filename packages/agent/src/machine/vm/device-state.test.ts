import { describe, expect, it } from 'vitest'
import { sectionsOf, stateOf } from './device-state.ts'

function section(id: number, name: string, data: Buffer): Buffer {
  const head = Buffer.from([4, 0, 0, 0, id, name.length, ...Buffer.from(name), 0, 0, 0, 0, 0, 0, 0, 2])
  return Buffer.concat([head, data, Buffer.from([0x7e, 0, 0, 0, id])])
}
const head = Buffer.from([0x51, 0x45, 0x56, 0x4d, 0, 0, 0, 3])
const end = Buffer.from([0])
/** Data that looks like a footer, like a footer before the end, and like a section of an earlier device. */
const confusing = Buffer.concat([
  Buffer.from([0x7e, 0, 0, 0, 2, 0, 9]),
  Buffer.from([0x7e, 0, 0, 0, 2]),
  Buffer.from([0x7e, 0, 0, 0, 2, 5]),
])
const timer = section(1, 'timer', Buffer.from('abc'))
const disk = section(2, 'virtio-mmio@00/virtio-blk', confusing)
const net = section(5, 'net', Buffer.alloc(0))
const state = Buffer.concat([head, timer, disk, net, end])

describe('a device state', () => {
  it('is split into its sections, whatever their data contains', () => {
    const sections = sectionsOf(state)
    expect(sections.map(({ name }) => name)).toEqual(['timer', 'virtio-mmio@00/virtio-blk', 'net'])
    expect(sections.map(({ bytes }) => bytes)).toEqual([timer, disk, net])
    expect(stateOf(sections)).toEqual(state)
    expect(stateOf([])).toEqual(Buffer.concat([head, end]))
  })

  it('is refused if it is cut at any byte, or no device state', () => {
    const plain = Buffer.concat([head, timer, net, end])
    for (let bytes = 0; bytes < plain.length; bytes++) {
      expect(() => sectionsOf(plain.subarray(0, bytes)), `${bytes} bytes`).toThrow(Error)
    }
    expect(() => sectionsOf(Buffer.from('no state at all'))).toThrow('no device state')
    expect(() => sectionsOf(Buffer.concat([state, end]))).toThrow(Error)
  })
})
