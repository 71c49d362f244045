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
/** Milliseconds before a retry. */
const RETRY_MS = 500

/** Which program opens the host: the agent, its preparation, or `end-all`. */
export type HostPurpose = 'serve' | 'prepare' | 'end'

/** A guest of an earlier agent process. */
export interface KnownGuest {
  /** The slot of a running guest, or the last slot of a hibernated guest, which keeps it if it is still free. */
  readonly slot: number
  readonly isHibernated: boolean
  readonly egress: Egress
  /** Megabits per second; `null`: the default of all guests. */
  readonly mbit: number | null
  /** The guest's address if it runs or can run again; `null` for a guest that never will. */
  readonly ip: string | null
}

export interface OpenNetworkOptions {
  readonly config: AgentConfig
  readonly dir: Pick<DataDir, 'root'>
  readonly images: Pick<Images, 'withTap'>
  /** These guests keep their slots. */
  readonly guests: readonly KnownGuest[]
  readonly purpose: HostPurpose
  readonly log: Logger
}

export interface OpenedNetwork {
  /** `null` if the agent is not root. */
  readonly claims: SlotClaims | null
  readonly slots: Slots
  /** `null`: guests have QEMU's user network, without egress. */
  readonly network: GuestNetwork | null
  /** Answers the DNS queries of guests. */
  readonly names: NameServer | null
  /** Why guests have no network; `null` if they have one. */
  readonly reason: string | null
}

/**
 * Opens the agent's slots and the network of its guests. If the host provides no network, guests run without one. But if
 * existing guests had a network, the agent must not continue: none of them could wake, and bakes would be made for another
 * machine. It exits, and its supervisor starts it again.
 * @throws NetworkLost
 */
export async function openNetwork(options: OpenNetworkOptions): Promise<OpenedNetwork> {
  const { config, dir, images, guests, purpose, log } = options
  const without = (claims: SlotClaims | null, cause: unknown): OpenedNetwork => {
    if (purpose !== 'end' && guests.some(hadNetwork)) throw new NetworkLost(cause)
    log.error({ err: cause }, 'guests have no network: they have no egress')
    return {
      claims,
      slots: new Slots({ claims, network: null, log }),
      network: null,
      names: null,
      reason: messageOf(cause),
    }
  }
  if (process.getuid?.() !== 0) return without(null, new NotOnThisHost('the agent is not root'))
  const { guest_range: cidr, egress_allow, guest_mbit, guest_connections: connections } = config.network
  const exceptions = egress_allow.flatMap((text) => parseEgressException(text) ?? [])
  const base = cidr.split('/')[0] ?? cidr
  const clear = (block: number) => clearBlock(base, block)
  const claims = await SlotClaims.open({ dataDir: dir.root, baseUid: BASE_UID, clear, folder: config.run_dir })
  const limits = { bytesPerSecond: guest_mbit * BYTES_PER_MBIT, connections }
  const begin = async () => {
    await refuseRangeInUse(cidr)
    await findTun()
    const network = new GuestNetwork({ range: { base, cidr }, exceptions, limits, runDir: config.run_dir })
    const inUse = slotsInUse(guests).filter(({ slot }) => claims.has(slot))
    const names = purpose === 'serve' ? await startNameServer(network, config.network.loopback_resolver) : null
    try {
      await network.start(claims.blocks, inUse, names?.port ?? null)
      const slots = new Slots({ claims, network, log })
      // Proves that the host allows the agent to create a TAP.
      await network.prepare([trialSlot(claims, inUse)])
      return { claims, slots, network, names, reason: null }
    } catch (error) {
      await names?.close()
      throw error
    }
  }
  try {
    await access(images.withTap, constants.X_OK)
    return await withRetries(begin, log)
  } catch (error) {
    return without(claims, error)
  }
}

/** The slots of running guests, and the slots of hibernated guests that are kept for them, up to the maximum. */
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

/** The host can no longer provide the network that existing sandboxes were created with. */
class NetworkLost extends Error {
  override readonly name = 'NetworkLost'

  constructor(cause: unknown) {
    super('the sandboxes here had a network, and there is none now', { cause })
  }
}

/** Whether the guest has an address other than that of QEMU's user network. */
function hadNetwork({ ip }: KnownGuest): boolean {
  return ip !== null && ip !== GUEST_IP
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function findTun(): Promise<void> {
  await access(TUN).catch((cause: unknown) => {
    throw new NotOnThisHost(`${TUN} is missing`, { cause })
  })
}

/** Retries, because commands of a killed agent may still be running. They end within a moment. */
async function withRetries(begin: () => Promise<OpenedNetwork>, log: Logger): Promise<OpenedNetwork> {
  for (let tries = 1; ; tries++) {
    try {
      return await begin()
    } catch (error) {
      if (tries === TRIES || isPermanent(error)) throw error
      log.warn({ err: error }, 'network of guests could not be opened: retrying')
      await wait(RETRY_MS)
    }
  }
}

function startNameServer(network: GuestNetwork, loopback: string | null): Promise<NameServer> {
  const resolvers = new Resolvers(undefined, loopback)
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
