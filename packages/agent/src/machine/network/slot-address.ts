/**
 * The network identity of a slot's guest. All of it is a function of the slot's number, so that the agent stores and changes
 * nothing when a VM starts or ends.
 */
export interface SlotAddress {
  readonly slot: number
  /** Name of its TAP, on the host. */
  readonly tap: string
  /** The host's address in the slot's /30 network. */
  readonly gateway: string
  readonly ip: string
  /** The guest's MAC address. Locally administered (02), so that it collides with no hardware. */
  readonly mac: string
}

/** Prefix length of a slot's network: two host addresses beside the network and broadcast addresses. */
export const SLOT_PREFIX_BITS = 30
const SLOT_ADDRESSES = 2 ** (32 - SLOT_PREFIX_BITS)
const GATEWAY_OFFSET = 1
const GUEST_OFFSET = 2
/** Prefix of the agent's TAP names. Linux allows 15 characters for the whole name. */
export const TAP_PREFIX = 'ofs'
/** MAC address of the host's end of every TAP. They may share it, because each TAP is a network of its own. */
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

/** The slot whose TAP has this name; `null` for another interface. */
export function slotOfTap(name: string): number | null {
  const digits = /^ofs(0|[1-9]\d{0,5})$/.exec(name)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The slot whose guest has this address; `null` if no guest has it. */
export function slotOfGuest(base: string, ip: string): number | null {
  const slot = (toNumber(ip) - toNumber(base) - GUEST_OFFSET) / SLOT_ADDRESSES
  return Number.isInteger(slot) && slot >= 0 ? slot : null
}

/** The network of `count` slots from `first` on. `count` is a power of two, and `first` a multiple of it. */
export function networkOfSlots(base: string, first: number, count: number): string {
  return `${toText(toNumber(base) + first * SLOT_ADDRESSES)}/${SLOT_PREFIX_BITS - Math.log2(count)}`
}

/** The smallest set of runs that covers exactly these slots, such that each run is one network. */
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
