import { access, constants } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { parseEgressException } from '@offshoot/contract/egress-exception'
import type { AgentConfig } from '@offshoot/contract/process-config'
import type { Egress } from '@offshoot/contract/sandbox'
import type { Logger } from 'pino'
import { BLOCK_SLOTS, SlotClaims } from '../host/slot-claims.ts'
import type { DataDir } from '../../store/data-dir/data-dir.ts'
import type { Images } from '../../store/bakes/images.ts'
import { BASE_UID, MAX_PARKED, Slots } from './slots.ts'
import { GUEST_IP } from '../vm/machine.ts'
import { NameServer } from '../network/dns/name-server.ts'
import { Resolvers } from '../network/dns/resolvers.ts'
import { BYTES_PER_MBIT, clearBlock, GuestNetwork, type SlotInUse } from '../network/guest-network.ts'
import { isPermanent, NotOnThisHost } from '../network/permanent-failure.ts'
import { slotOfTap } from '../network/slot-address.ts'
import { routesInto } from '../network/uplinks.ts'

const DNS_PORT = 53
const TUN = '/dev/net/tun'
const TRIES = 4
/** Milliseconds before trying again. */
const RETRY_MS = 500

/** What a program of the agent is there for. */
export type HostPurpose = 'serve' | 'prepare' | 'end'

/** A guest that an earlier agent process has left here. */
export interface KnownGuest {
  /** Of one that is hibernated: the slot that it had last, if that is still free. */
  readonly slot: number
  readonly isHibernated: boolean
  readonly egress: Egress
  /** Megabits a second; `null`: as many as every guest. */
  readonly mbit: number | null
  /** The guest's address, where it runs or can run again; `null` for one that never will. */
  readonly ip: string | null
}

export interface OpenNetworkOptions {
  readonly config: AgentConfig
  readonly dir: Pick<DataDir, 'root'>
  readonly images: Pick<Images, 'withTap'>
  /** They keep the slots they have. */
  readonly guests: readonly KnownGuest[]
  readonly purpose: HostPurpose
  readonly log: Logger
}

export interface OpenedNetwork {
  /** `null` where the agent is not root. */
  readonly claims: SlotClaims | null
  readonly slots: Slots
  /** `null`: guests have QEMU's user network, which leads nowhere. */
  readonly network: GuestNetwork | null
  /** Answers guests' questions for names. */
  readonly names: NameServer | null
  /** Why there is none; `null` where there is one. */
  readonly reason: string | null
}

/**
 * The slots of this agent and what they need on the host. Where that gives no network, guests have none; but who has guests that had one
 * must not go on: none of those would wake again, and bakes would be made for another machine. It ends, and is started again.
 * @throws NetworkLost
 */
export async function openNetwork(options: OpenNetworkOptions): Promise<OpenedNetwork> {
  const { config, dir, images, guests, purpose, log } = options
  const without = (claims: SlotClaims | null, cause: unknown): OpenedNetwork => {
    if (purpose !== 'end' && guests.some(hadNetwork)) throw new NetworkLost(cause)
    log.error({ err: cause }, 'guests have no network: nothing they send leaves them')
    return {
      claims,
      slots: new Slots({ claims, network: null, log }),
      network: null,
      names: null,
      reason: wordsOf(cause),
    }
  }
  if (process.getuid?.() !== 0) return without(null, new NotOnThisHost('the agent is not root'))
  const { guest_range: cidr, egress_allow, guest_mbit, guest_connections: connections } = config.network
  const exceptions = egress_allow.flatMap((text) => parseEgressException(text) ?? [])
  const base = cidr.split('/')[0] ?? cidr
  const clear = (block: number) => clearBlock(base, block)
  const claims = await SlotClaims.open({ dataDir: dir.root, baseUid: BASE_UID, clear })
  const limits = { bytesPerSecond: guest_mbit * BYTES_PER_MBIT, connections }
  const begin = async () => {
    await refuseRangeInUse(cidr)
    await findTun()
    const network = new GuestNetwork({ range: { base, cidr }, exceptions, limits })
    const inUse = slotsInUse(guests).filter(({ slot }) => claims.has(slot))
    const names = purpose === 'serve' ? await startNameServer(network) : null
    try {
      await network.start(claims.blocks, inUse, names?.port ?? null)
      const slots = new Slots({ claims, network, log })
      // The proof that this host lets us have one.
      await network.prepare([trialSlot(claims, inUse)])
      return { claims, slots, network, names, reason: null }
    } catch (error) {
      await names?.close()
      throw error
    }
  }
  try {
    await access(images.withTap, constants.X_OK)
    return await severalTimes(begin, log)
  } catch (error) {
    return without(claims, error)
  }
}

/** Those that guests run in, and those of the hibernated for which they may be kept. */
function slotsInUse(guests: readonly KnownGuest[]): SlotInUse[] {
  const bySlot = new Map<number, SlotInUse>()
  for (const guest of guests) if (!guest.isHibernated) bySlot.set(guest.slot, guest)
  const mostSlots = bySlot.size + MAX_PARKED
  for (const guest of guests) {
    if (bySlot.size === mostSlots) break
    if (guest.isHibernated && !bySlot.has(guest.slot)) bySlot.set(guest.slot, guest)
  }
  return [...bySlot.values()]
}

/** Guests here had a network, and there is none to be had now. */
class NetworkLost extends Error {
  override readonly name = 'NetworkLost'

  constructor(cause: unknown) {
    super('the sandboxes here had a network, and there is none now', { cause })
  }
}

/** Whether its address is not QEMU's own network's. */
function hadNetwork({ ip }: KnownGuest): boolean {
  return ip !== null && ip !== GUEST_IP
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function findTun(): Promise<void> {
  await access(TUN).catch((cause: unknown) => {
    throw new NotOnThisHost(`${TUN} is missing`, { cause })
  })
}

/** What an agent that was killed had begun may still be under way: it ends within a moment. */
async function severalTimes(begin: () => Promise<OpenedNetwork>, log: Logger): Promise<OpenedNetwork> {
  for (let tries = 1; ; tries++) {
    try {
      return await begin()
    } catch (error) {
      if (tries === TRIES || isPermanent(error)) throw error
      log.warn({ err: error }, 'no network for guests: trying again')
      await wait(RETRY_MS)
    }
  }
}

function startNameServer(network: GuestNetwork): Promise<NameServer> {
  const resolvers = new Resolvers()
  return NameServer.start({
    resolvers: async () => (await resolvers.current()).map((address) => ({ address, port: DNS_PORT })),
    isGuest: (ip) => network.isGuest(ip),
  })
}

function trialSlot({ blocks }: SlotClaims, inUse: readonly Pick<KnownGuest, 'slot'>[]): number {
  const used = new Set(inUse.map(({ slot }) => slot))
  const first = (blocks[0] ?? 0) * BLOCK_SLOTS
  for (let slot = first; slot < first + BLOCK_SLOTS; slot++) if (!used.has(slot)) return slot
  return first
}

async function refuseRangeInUse(cidr: string): Promise<void> {
  const others = (await routesInto(cidr)).filter((name) => slotOfTap(name) === null)
  if (others.length > 0) throw new NotOnThisHost(`${cidr}, the range of the guests, is in use by ${others.join(', ')}`)
}
