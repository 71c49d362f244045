import { access, constants } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { parseEgressException } from '@offshoot/contract/egress-exception'
import type { AgentConfig } from '@offshoot/contract/process-config'
import type { Logger } from 'pino'
import { BLOCK_SLOTS, SlotClaims } from '../host/slot-claims.ts'
import type { DataDir } from '../host/data-dir.ts'
import type { Manifest } from '../sandboxes/manifest.ts'
import type { Images } from '../vm/images.ts'
import { BASE_UID, Slots } from '../sandboxes/slots.ts'
import { NameServer } from './dns/name-server.ts'
import { Resolvers } from './dns/resolvers.ts'
import { clearBlock, GuestNetwork } from './guest-network.ts'
import { slotOfTap } from './slot-address.ts'
import { routesInto } from './uplinks.ts'

const DNS_PORT = 53
const TRIES = 4
/** Milliseconds before trying again. */
const RETRY_MS = 500
/** Bytes a second of a megabit a second. */
const BYTES_PER_MBIT = 125_000

export interface OpenNetworkOptions {
  readonly config: AgentConfig
  readonly dir: Pick<DataDir, 'root'>
  readonly images: Pick<Images, 'withTap'>
  /** Of the sandboxes there are: they keep the slots they have. */
  readonly manifests: readonly Manifest[]
  /** Whether guests' questions for names are answered: by an agent that runs, not by what prepares or ends it. */
  readonly answersNames: boolean
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

/** The slots of this agent and what they need on the host. */
export async function openNetwork(options: OpenNetworkOptions): Promise<OpenedNetwork> {
  const { config, dir, images, manifests, answersNames, log } = options
  const without = (claims: SlotClaims | null, reason: string): OpenedNetwork => {
    return { claims, slots: new Slots({ claims, network: null, log }), network: null, names: null, reason }
  }
  if (process.getuid?.() !== 0) return without(null, 'the agent is not root')
  const { guest_range: cidr, egress_allow, guest_mbit, guest_connections: connections } = config.network
  const exceptions = egress_allow.flatMap((text) => parseEgressException(text) ?? [])
  const base = cidr.split('/')[0] ?? cidr
  const clear = (block: number) => clearBlock(base, block)
  const claims = await SlotClaims.open({ dataDir: dir.root, baseUid: BASE_UID, clear })
  const limits = { bytesPerSecond: guest_mbit * BYTES_PER_MBIT, connections }
  const begin = async () => {
    await refuseRangeInUse(cidr)
    const network = new GuestNetwork({ range: { base, cidr }, exceptions, limits })
    const inUse = manifests.filter(({ slot }) => claims.has(slot))
    const names = answersNames ? await startNameServer(network) : null
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
    log.error({ err: error }, 'guests have no network: nothing they send leaves them')
    return without(claims, error instanceof Error ? error.message : String(error))
  }
}

/** What an agent that was killed had begun (ip, nft) may still be under way: it ends within a moment, and without a network no guest wakes. */
async function severalTimes(begin: () => Promise<OpenedNetwork>, log: Logger): Promise<OpenedNetwork> {
  for (let tries = 1; ; tries++) {
    try {
      return await begin()
    } catch (error) {
      if (tries === TRIES) throw error
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

function trialSlot({ blocks }: SlotClaims, inUse: readonly Manifest[]): number {
  const used = new Set(inUse.map(({ slot }) => slot))
  const first = (blocks[0] ?? 0) * BLOCK_SLOTS
  for (let slot = first; slot < first + BLOCK_SLOTS; slot++) if (!used.has(slot)) return slot
  return first
}

async function refuseRangeInUse(cidr: string): Promise<void> {
  const others = (await routesInto(cidr)).filter((name) => slotOfTap(name) === null)
  if (others.length > 0) throw new Error(`${cidr}, the range of the guests, is in use by ${others.join(', ')}`)
}
