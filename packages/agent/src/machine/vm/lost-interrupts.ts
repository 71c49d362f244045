import { type Section, sectionsOf, stateOf } from './device-state.ts'

/*
 * Under KVM, QEMU emulates the I/O APICs, and the kernel the local APICs. When a guest ends a level-triggered interrupt, the
 * kernel tells QEMU at the next chance (KVM_EXIT_IOAPIC_EOI). A guest that is stopped in between has ended its interrupt, but
 * QEMU's I/O APIC still waits for that: its Remote IRR bit is set. The notice is in no device state. In a guest that is restored
 * from it, the bit would stay set, and the device could never interrupt again.
 */

/** Offsets in the data of QEMU's section `apic` (hw/intc/apic_common.c). The three registers have 256 bits. */
const APIC = {
  name: 'apic',
  version: 3,
  id: 4,
  logicalId: 11,
  inService: 13,
  trigger: 45,
  requests: 77,
  end: 109,
} as const
/** Offsets in the data of QEMU's section `ioapic` (hw/intc/ioapic_common.c), and its number of pins. */
const IOAPIC = { name: 'ioapic', version: 3, entries: 14, pins: 24, end: 14 + 24 * 8 } as const
/** Bits of an entry in the table of an I/O APIC. */
const LOGICAL = 1n << 11n
const REMOTE_IRR = 1n << 14n
const LEVEL = 1n << 15n
const MASKED = 1n << 16n
const DESTINATION_SHIFT = 56n

/**
 * Requests each interrupt again that the guest has ended without the I/O APIC knowing it. The guest handles it once more, which
 * its drivers allow, and QEMU learns of its end then.
 * @returns the state itself if no interrupt is lost, or if its format is not known
 */
export function requestLostInterrupts(state: Buffer): Buffer {
  const sections = copiedSections(state)
  const apics = dataOf(sections, APIC)
  const entries = dataOf(sections, IOAPIC).flatMap((data) =>
    Array.from({ length: IOAPIC.pins }, (_, pin) => data.readBigUInt64BE(IOAPIC.entries + pin * 8)),
  )
  const lost = entries.filter((entry) => isWaiting(entry) && !apics.some((apic) => knows(apic, vectorOf(entry))))
  for (const entry of lost) {
    for (const apic of apics.filter((each) => isDestination(each, entry))) {
      set(apic, APIC.requests, vectorOf(entry))
      set(apic, APIC.trigger, vectorOf(entry))
    }
  }
  return lost.length === 0 ? state : stateOf(sections)
}

/** Copies of the sections. None if the format is not known: then no interrupt counts as lost. */
function copiedSections(state: Buffer): Section[] {
  try {
    return sectionsOf(Buffer.from(state))
  } catch {
    return []
  }
}

function dataOf(sections: readonly Section[], { name, version, end }: typeof APIC | typeof IOAPIC): Buffer[] {
  return sections
    .filter((section) => section.name === name)
    .map(({ bytes }) => ({ version: bytes.readUInt32BE(10 + name.length), data: bytes.subarray(14 + name.length) }))
    .filter((section) => section.version === version && section.data.length >= end)
    .map(({ data }) => data)
}

function isWaiting(entry: bigint): boolean {
  return (entry & (REMOTE_IRR | LEVEL | MASKED)) === (REMOTE_IRR | LEVEL)
}

function vectorOf(entry: bigint): number {
  return Number(entry & 0xffn)
}

function knows(apic: Buffer, vector: number): boolean {
  return has(apic, APIC.inService, vector) || has(apic, APIC.requests, vector)
}

function isDestination(apic: Buffer, entry: bigint): boolean {
  const destination = Number(entry >> DESTINATION_SHIFT)
  if ((entry & LOGICAL) !== 0n) return ((apic[APIC.logicalId] ?? 0) & destination) !== 0
  return apic[APIC.id] === destination
}

/** Registers are arrays of 32-bit words. */
function has(apic: Buffer, register: number, vector: number): boolean {
  return (apic.readUInt32BE(register + (vector >> 5) * 4) & (1 << (vector & 31))) !== 0
}

function set(apic: Buffer, register: number, vector: number): void {
  const at = register + (vector >> 5) * 4
  apic.writeUInt32BE((apic.readUInt32BE(at) | (1 << (vector & 31))) >>> 0, at)
}
