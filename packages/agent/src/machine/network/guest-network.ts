/**
 * The way of this agent's guests to the world: a TAP for each slot in use, and what may pass there.
 *
 *     (no TAP) ──prepare──► idle ──open──► in use ──clean──► idle ──discard──► (no TAP)
 *
 * A TAP is made ahead of need and outlives guests; what belongs to a guest (its connections, what was counted of it, that it
 * has no way out) goes before the slot is anybody else's. All of it outlives the agent's process, as VMs do.
 */
import type { EgressException } from '@offshoot/contract/egress-exception'
import type { Egress } from '@offshoot/contract/sandbox'
import type { GuestAddress } from '@offshoot/guest-link/guest-refresh'
import { BLOCK_SLOTS } from '../host/slot-claims.ts'
import { BlockTable, removeTable, tableOfBlock, type TapRules } from './block-table.ts'
import { forgetConnections } from './connection-tracking.ts'
import { listTables } from './nft.ts'
import type { GuestLimits } from './rules.ts'
import { addressOfSlot, networkOfSlots, SLOT_PREFIX_BITS, slotOfGuest, type SlotAddress } from './slot-address.ts'
import { makeTaps, removeTaps, slotsWithTap, type TapTraffic, tapTraffic } from './taps.ts'
import { findUplinks, forwardFrom, smallestMtu } from './uplinks.ts'

/** What belongs to slots that are in use when the agent starts. */
export interface SlotInUse {
  readonly slot: number
  readonly egress: Egress
  /** See {@link GuestNetwork.limit}. */
  readonly mbit: number | null
}

export interface GuestNetworkOptions {
  /** First address and length of the guests' range. */
  readonly range: { readonly base: string; readonly cidr: string }
  readonly exceptions: readonly EgressException[]
  readonly limits: GuestLimits
  /** See `AgentConfig.run_dir`. */
  readonly runDir: string
}

/** Bytes a second of a megabit a second. */
export const BYTES_PER_MBIT = 125_000

export class GuestNetwork {
  readonly #options: GuestNetworkOptions
  readonly #tables = new Map<number, BlockTable>()
  /** By slot: resolves when the TAP is there. */
  readonly #taps = new Map<number, Promise<void>>()
  /** Slots that guests have had since they were last clean. */
  readonly #used = new Set<number>()
  /** By slot: the packets that its TAP had carried when the slot was last clean. */
  readonly #cleanAt = new Map<number, number>()
  /** Slots without a way out. */
  readonly #inside = new Set<number>()
  /** By slot: bytes a second, where that is less than every guest may have. It outlives the guest, until another has another rate. */
  readonly #rates = new Map<number, number>()
  #dnsPort: number | null = null
  #mtu = 0

  constructor(options: GuestNetworkOptions) {
    this.#options = options
  }

  /**
   * Takes over what an earlier agent left, for the guests that are still there; the rest of it goes.
   * @throws Error why this host gives no TAPs or no packet filter
   */
  async start(blocks: readonly number[], inUse: readonly SlotInUse[], dnsPort: number | null): Promise<void> {
    this.#dnsPort = dnsPort
    await this.renewUplinks()
    for (const { slot, egress, mbit } of inUse) {
      if (egress === 'none') this.#inside.add(slot)
      this.#noteRate(slot, mbit)
    }
    const used = new Set(inUse.map(({ slot }) => slot))
    for (const slot of used) this.#used.add(slot)
    for (const block of blocks) await this.addBlock(block, used)
    const own = (await slotsWithTap()).filter((slot) => this.#tables.has(blockOf(slot)))
    for (const slot of own) if (used.has(slot)) this.#taps.set(slot, Promise.resolve())
    await removeSlots(
      this.#options.range.base,
      own.filter((slot) => !used.has(slot)),
    )
  }

  /** @param used slots whose guests are the same as before */
  async addBlock(block: number, used: ReadonlySet<number> = new Set()): Promise<void> {
    const { range, exceptions, limits } = this.#options
    const first = block * BLOCK_SLOTS
    const slots = Array.from({ length: BLOCK_SLOTS }, (_unused, index) => addressOfSlot(range.base, first + index))
    const table = new BlockTable(block, {
      slots,
      network: networkOfSlots(range.base, first, BLOCK_SLOTS),
      guestRange: range.cidr,
      exceptions,
      dnsPort: this.#dnsPort,
      limits,
    })
    const counting = new Set(slots.flatMap(({ slot, tap }) => (used.has(slot) ? [tap] : [])))
    await table.write(() => this.#rulesOf(block), counting)
    this.#tables.set(block, table)
  }

  /** Names of the packet filter's tables of this agent. */
  get tables(): string[] {
    return [...this.#tables.keys()].map(tableOfBlock)
  }

  /** Restores tables that another program has removed. Their counters are lost. @returns the number of restored tables */
  async restoreTables(): Promise<number> {
    const there = new Set(await listTables())
    const missing = [...this.#tables].filter(([block]) => !there.has(tableOfBlock(block)))
    for (const [block, table] of missing) await table.write(() => this.#rulesOf(block), new Set())
    return missing.length
  }

  /** The host's ways out may have changed. */
  async renewUplinks(): Promise<void> {
    const uplinks = await findUplinks(this.#options.exceptions)
    await forwardFrom(uplinks, this.#options.runDir)
    this.#mtu = await smallestMtu(uplinks)
  }

  addressOf(slot: number): SlotAddress {
    return addressOfSlot(this.#options.range.base, slot)
  }

  /** What the guest of a slot is to be told of its network. */
  identityOf(slot: number): { readonly mac: string; readonly address: GuestAddress } {
    const { mac, ip, gateway } = this.addressOf(slot)
    return { mac, address: { ip, gateway, prefixBits: SLOT_PREFIX_BITS, mtu: this.#mtu } }
  }

  /** Whether an address is that of one of our slots' guests. */
  isGuest(ip: string): boolean {
    const slot = slotOfGuest(this.#options.range.base, ip)
    return slot !== null && this.#tables.has(blockOf(slot))
  }

  /** No guest was there since. */
  isClean(slot: number): boolean {
    return !this.#used.has(slot)
  }

  hasTap(slot: number): boolean {
    return this.#taps.has(slot)
  }

  /** Makes the TAPs of slots that have none. */
  async prepare(slots: readonly number[]): Promise<void> {
    const missing = slots.filter((slot) => !this.#taps.has(slot))
    const made = makeTaps(
      missing.map((slot) => this.addressOf(slot)),
      this.#mtu,
    )
    for (const slot of missing) this.#taps.set(slot, made)
    try {
      await made
      for (const slot of missing) this.#cleanAt.set(slot, 0)
    } catch (error) {
      for (const slot of missing) this.#taps.delete(slot)
      throw error
    }
  }

  /** Before the guest of a slot runs, anew or again. */
  async open(slot: number, egress: Egress): Promise<void> {
    this.#used.add(slot)
    await Promise.all([this.#taps.get(slot) ?? this.prepare([slot]), this.#confine(slot, egress)])
  }

  /**
   * Holds back what the guest of a slot sends, and what it gets.
   * @param mbit megabits a second in each direction; `null`: as many as every guest may have, which no guest passes
   */
  async limit(slot: number, mbit: number | null): Promise<void> {
    const before = this.#rates.get(slot) ?? null
    this.#noteRate(slot, mbit)
    const after = this.#rates.get(slot) ?? null
    if (after === before) return
    const change = async () => this.#tables.get(blockOf(slot))?.changeRate(this.addressOf(slot).tap, before, after)
    // Another program may have removed the table.
    const again = async () => {
      await this.restoreTables()
      await change()
    }
    await change()
      .catch(again)
      .catch((error: unknown) => {
        this.#setRate(slot, before)
        throw error
      })
  }

  /**
   * Removes what a guest that has gone for good has left in its slot. A guest whose TAP carried no packet has no connection
   * and no refused packet, so that only its missing way out is left.
   */
  async clean(slots: readonly number[]): Promise<void> {
    const traffic = await tapTraffic()
    const packetsOf = (slot: number) => traffic.get(slot)?.packets ?? null
    const active = slots.filter((slot) => {
      const packets = packetsOf(slot)
      return packets === null || packets !== this.#cleanAt.get(slot)
    })
    await forgetConnections(this.#options.range.base, active)
    const changed = slots.filter((slot) => active.includes(slot) || this.#inside.has(slot))
    for (const [block, table] of this.#tables) {
      const taps = changed.filter((slot) => blockOf(slot) === block).map((slot) => this.addressOf(slot).tap)
      if (taps.length > 0) await table.renew(taps)
    }
    for (const slot of slots) {
      this.#inside.delete(slot)
      this.#used.delete(slot)
      const packets = packetsOf(slot)
      if (packets !== null) this.#cleanAt.set(slot, packets)
    }
  }

  /** Removes TAPs of slots that are clean. */
  async discard(slots: readonly number[]): Promise<void> {
    const there = slots.filter((slot) => this.#taps.delete(slot))
    for (const slot of there) this.#cleanAt.delete(slot)
    await removeTaps(there.map((slot) => this.addressOf(slot).tap))
  }

  /** By slot: packets that its guest wanted to send and might not. */
  async refused(): Promise<Map<number, number>> {
    const found = new Map<number, number>()
    for (const [block, table] of this.#tables) {
      const counted = await table.refused()
      for (let slot = block * BLOCK_SLOTS; slot < (block + 1) * BLOCK_SLOTS; slot++) {
        found.set(slot, counted.get(this.addressOf(slot).tap) ?? 0)
      }
    }
    return found
  }

  /** By slot: what passed its TAP since that was made, by this guest and by those before it. */
  async traffic(): Promise<Map<number, TapTraffic>> {
    return tapTraffic()
  }

  #noteRate(slot: number, mbit: number | null): void {
    const rate = mbit === null ? null : mbit * BYTES_PER_MBIT
    this.#setRate(slot, rate === null || rate >= this.#options.limits.bytesPerSecond ? null : rate)
  }

  #setRate(slot: number, rate: number | null): void {
    if (rate === null) this.#rates.delete(slot)
    else this.#rates.set(slot, rate)
  }

  #rulesOf(block: number): TapRules {
    const tapOf = (slot: number) => this.addressOf(slot).tap
    return {
      inside: new Set([...this.#inside].filter((slot) => blockOf(slot) === block).map(tapOf)),
      rates: new Map(
        [...this.#rates].flatMap(([slot, rate]) => (blockOf(slot) === block ? [[tapOf(slot), rate]] : [])),
      ),
    }
  }

  async #confine(slot: number, egress: Egress): Promise<void> {
    if (egress === 'internet' || this.#inside.has(slot)) return
    await this.#tables.get(blockOf(slot))?.keepInside(this.addressOf(slot).tap)
    this.#inside.add(slot)
  }
}

/** Everything that a block's guests can have on this machine; no process may use its TAPs any more. */
export async function clearBlock(base: string, block: number): Promise<void> {
  const slots = (await slotsWithTap()).filter((slot) => blockOf(slot) === block)
  await removeSlots(base, slots)
  await removeTable(block)
}

/** Removes the TAPs of slots, and the connections of their guests. A TAP that never carried a packet has had none. */
async function removeSlots(base: string, slots: readonly number[]): Promise<void> {
  const traffic = await tapTraffic()
  await forgetConnections(
    base,
    slots.filter((slot) => traffic.get(slot)?.packets !== 0),
  )
  await removeTaps(slots.map((slot) => addressOfSlot(base, slot).tap))
}

function blockOf(slot: number): number {
  return Math.floor(slot / BLOCK_SLOTS)
}
