import { describe, expect, it } from 'vitest'
import { stateOf } from './device-state.ts'
import { requestLostInterrupts } from './lost-interrupts.ts'

const LEVEL = 0x8000n
const WAITING = 0x4000n
const LOGICAL = 0x800n
const MASKED = 0x1_0000n
const VECTOR = 0x21

function section(id: number, name: string, version: number, data: Buffer) {
  const head = Buffer.from([4, 0, 0, 0, id, name.length, ...Buffer.from(name), 0, 0, 0, 0, 0, 0, 0, version])
  return { name, bytes: Buffer.concat([head, data, Buffer.from([0x7e, 0, 0, 0, id])]) }
}

interface Apic {
  readonly id?: number
  readonly logicalId?: number
  readonly inService?: boolean
  readonly isRequested?: boolean
}

/** The registers' word with {@link VECTOR} is the second one. */
function apic({ id = 0, logicalId = 1, inService = false, isRequested = false }: Apic, trigger = false): Buffer {
  const data = Buffer.alloc(181)
  data[4] = id
  data[11] = logicalId
  if (inService) data.writeUInt32BE(2, 13 + 4)
  if (trigger) data.writeUInt32BE(2, 45 + 4)
  if (isRequested) data.writeUInt32BE(2, 77 + 4)
  return data
}

function state(entry: bigint, apics: readonly Buffer[], version = 3): Buffer {
  const ioapic = Buffer.alloc(206)
  ioapic.writeBigUInt64BE(entry, 14 + 21 * 8)
  return stateOf([
    ...apics.map((data, at) => section(at + 1, 'apic', version, data)),
    section(8, 'ioapic', version, Buffer.alloc(206)),
    section(9, 'ioapic', version, ioapic),
  ])
}

const entry = (bits: bigint, destination = 0n) => BigInt(VECTOR) | bits | (destination << 56n)

describe('a device state', () => {
  it('requests an interrupt again whose end the I/O APIC has not learned', () => {
    const lost = entry(LEVEL | WAITING)
    const requested = state(lost, [apic({ isRequested: true }, true)])
    expect(requestLostInterrupts(state(lost, [apic({})]))).toEqual(requested)
    expect(requestLostInterrupts(requested)).toBe(requested)
  })

  it.each([
    ['by its number', entry(LEVEL | WAITING, 1n), [apic({ id: 0 }), apic({ id: 1, isRequested: true }, true)]],
    [
      'as one of a group',
      entry(LEVEL | WAITING | LOGICAL, 2n),
      [apic({ logicalId: 1 }), apic({ logicalId: 2, isRequested: true }, true)],
    ],
  ])('requests it of the CPU that the entry names %s', (_how, lost, requested) => {
    const before = [
      apic({ id: 0, logicalId: 1 }),
      apic({ id: requested[1]?.[4] ?? 0, logicalId: requested[1]?.[11] ?? 0 }),
    ]
    expect(requestLostInterrupts(state(lost, before))).toEqual(state(lost, requested))
  })

  it.each([
    ['is in service', state(entry(LEVEL | WAITING), [apic({ inService: true })])],
    ['is in service on another CPU', state(entry(LEVEL | WAITING), [apic({}), apic({ id: 1, inService: true })])],
    ['is requested', state(entry(LEVEL | WAITING), [apic({ isRequested: true })])],
    ['has ended', state(entry(LEVEL), [apic({})])],
    ['is masked', state(entry(LEVEL | WAITING | MASKED), [apic({})])],
    ['is edge-triggered', state(entry(WAITING), [apic({})])],
    ['cannot be seen because the format is not known', Buffer.from('no state at all')],
    ['is in a section of another version', state(entry(LEVEL | WAITING), [apic({})], 4)],
  ])('stays as it is if the interrupt %s', (_why, before) => {
    expect(requestLostInterrupts(before)).toBe(before)
  })
})
