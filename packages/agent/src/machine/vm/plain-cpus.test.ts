import { describe, expect, it } from 'vitest'
import { sectionsOf, stateOf } from './device-state.ts'
import { withoutPlainCpus } from './plain-cpus.ts'

interface Cpu {
  readonly index?: number
  readonly halted?: number
  readonly requests?: number
  readonly more?: Buffer
}

function section(id: number, name: string, instance: number, data: Buffer): Buffer {
  const numbers = Buffer.alloc(8)
  numbers.writeUInt32BE(instance, 0)
  numbers.writeUInt32BE(1, 4)
  const head = Buffer.from([4, 0, 0, 0, id, name.length, ...Buffer.from(name)])
  return Buffer.concat([head, numbers, data, Buffer.from([0x7e, 0, 0, 0, id])])
}

function cpu({ index = 0, halted = 0, requests = 0, more = Buffer.alloc(0) }: Cpu): Buffer {
  const data = Buffer.alloc(8)
  data.writeUInt32BE(halted, 0)
  data.writeUInt32BE(requests, 4)
  return section(7 + index, 'cpu_common', index, Buffer.concat([data, more]))
}

const timer = section(1, 'timer', 0, Buffer.from('abc'))
const registers = section(3, 'cpu', 0, Buffer.alloc(40, 5))
const state = (...cpus: readonly Cpu[]) =>
  stateOf([timer, registers, ...cpus.map(cpu)].map((bytes) => ({ name: '', bytes })))
const left = (...cpus: readonly Cpu[]) => sectionsOf(withoutPlainCpus(state(...cpus))).map(({ bytes }) => bytes)

describe('a device state without plain CPUs', () => {
  it.each<[string, readonly Cpu[]]>([
    ['the first CPU, which runs', [{}]],
    ['the first CPU, which waits for an interrupt', [{ halted: 1 }]],
    ['the first CPU, for which an interrupt waits', [{ halted: 1, requests: 2 }]],
    ['the first CPU, which is to ask for interrupts', [{ requests: 0x10 }]],
    ['the first CPU, for which an interrupt waits, and which is to ask for others', [{ halted: 1, requests: 0x12 }]],
    ['another CPU that waits for an interrupt', [{}, { index: 1, halted: 1 }]],
  ])('lacks %s', (_case, cpus) => {
    expect(left(...cpus)).toEqual([timer, registers])
  })

  it.each<[string, Cpu]>([
    ['another CPU that runs, because a reset lets it wait', { index: 1 }],
    ['a CPU with another request', { requests: 4 }],
    ['a CPU with a request beside an interrupt', { requests: 6 }],
    ['a CPU with a request beside that to ask for interrupts', { requests: 0x14 }],
    ['a CPU with an exception', { more: Buffer.from([5, 20, ...Buffer.from('cpu_common/exception')]) }],
  ])('keeps %s', (_case, kept) => {
    expect(left(kept)).toEqual([timer, registers, cpu(kept)])
  })

  it('is refused if it is no device state', () => {
    expect(() => withoutPlainCpus(Buffer.from('no state'))).toThrow('no device state')
  })
})
