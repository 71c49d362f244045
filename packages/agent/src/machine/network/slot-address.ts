/**
 * What the guest of a slot has in its network, all of it a function of the slot's number: nothing needs to be noted, looked
 * up or changed when a VM comes or goes.
 */
export interface SlotAddress {
  readonly slot: number
  /** Name of its TAP, on the host. */
  readonly tap: string
  /** Host's end of its /30. */
  readonly gateway: string
  readonly ip: string
  /** The guest's. Locally administered (02): no maker of hardware has it. */
  readonly mac: string
}

/** Bits of the prefix of a slot's own network: two addresses beside its own and that of all. */
export const SLOT_PREFIX_BITS = 30
const SLOT_ADDRESSES = 2 ** (32 - SLOT_PREFIX_BITS)
const GATEWAY_OFFSET = 1
const GUEST_OFFSET = 2
/** Begins the name of every TAP of ours; the whole stays below 16 characters. */
export const TAP_PREFIX = 'ofs'
/** The host's end of every TAP has the same: each is a network of its own. */
export const GATEWAY_MAC = '02:0f:f5:ff:ff:ff'

/** @param base first address of the guests' range */
export function addressOfSlot(base: string, slot: number): SlotAddress {
  const network = toNumber(base) + slot * SLOT_ADDRESSES
  const hex = slot.toString(16).padStart(6, '0')
  return {
    slot,
    tap: `${TAP_PREFIX}${slot}`,
    gateway: toText(network + GATEWAY_OFFSET),
    ip: toText(network + GUEST_OFFSET),
    mac: `02:0f:f5:${hex.replaceAll(/..(?=.)/g, '$&:')}`,
  }
}

/** The slot whose TAP has this name; `null`: none of ours. */
export function slotOfTap(name: string): number | null {
  const digits = /^ofs(0|[1-9]\d{0,5})$/.exec(name)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The slot whose guest has this address; `null`: it is no guest's. */
export function slotOfGuest(base: string, ip: string): number | null {
  const slot = (toNumber(ip) - toNumber(base) - GUEST_OFFSET) / SLOT_ADDRESSES
  return Number.isInteger(slot) && slot >= 0 ? slot : null
}

/** The network of `count` slots from `first` on, both whole multiples of one power of two. */
export function networkOfSlots(base: string, first: number, count: number): string {
  return `${toText(toNumber(base) + first * SLOT_ADDRESSES)}/${SLOT_PREFIX_BITS - Math.log2(count)}`
}

/** The fewest runs that these slots are, and no other, each of them one network. */
export function runsOfSlots(slots: readonly number[]): { readonly first: number; readonly count: number }[] {
  const sorted = [...new Set(slots)].toSorted((a, b) => a - b)
  const runs: { first: number; count: number }[] = []
  let covered = 0
  for (const [at, first] of sorted.entries()) {
    if (at < covered) continue
    let count = 1
    while (first % (2 * count) === 0 && sorted[at + 2 * count - 1] === first + 2 * count - 1) count *= 2
    runs.push({ first, count })
    covered = at + count
  }
  return runs
}

function toNumber(ip: string): number {
  return ip.split('.').reduce((number, byte) => number * 256 + Number(byte), 0)
}

function toText(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join('.')
}
