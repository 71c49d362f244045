import { access, readFile, writeFile } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { feedProgram } from '../host/feed-program.ts'
import { GATEWAY_MAC, SLOT_PREFIX_BITS, slotOfTap, type SlotAddress } from './slot-address.ts'

const CHANGE_MS = 20_000
const SETTINGS = '/proc/sys/net'
/** Queue length of a TAP. The host's default would delay packets to a busy guest by more than a second (bufferbloat). */
const QUEUE_PACKETS = 500

/**
 * Creates the TAPs of slots, each with the host's address and a permanent neighbour entry for the guest. A TAP persists when
 * its QEMU ends.
 */
export async function makeTaps(slots: readonly SlotAddress[], mtu: number): Promise<void> {
  if (slots.length === 0) return
  // TAPs left over from an attempt that failed halfway.
  const wanted = new Set(slots.map(({ slot }) => slot))
  const halfway = new Set((await slotsWithTap()).filter((slot) => wanted.has(slot)))
  await removeTaps(slots.flatMap(({ slot, tap }) => (halfway.has(slot) ? [tap] : [])))
  const lines = slots.flatMap(({ tap, gateway, ip, mac }) => [
    `tuntap add dev ${tap} mode tap`,
    `link set dev ${tap} address ${GATEWAY_MAC} mtu ${mtu} txqueuelen ${QUEUE_PACKETS} addrgenmode none`,
    `address add ${gateway}/${SLOT_PREFIX_BITS} dev ${tap}`,
    `neighbour replace ${ip} lladdr ${mac} dev ${tap} nud permanent`,
  ])
  await feedIp(lines)
  for (const { tap } of slots) await set(tap)
  // Last: no packet may pass before all settings are in place.
  await feedIp(slots.map(({ tap }) => `link set dev ${tap} up`))
}

export async function removeTaps(taps: readonly string[]): Promise<void> {
  if (taps.length > 0) await feedIp(taps.map((tap) => `link delete dev ${tap}`))
}

/** The slots that have a TAP, of all agents in this network namespace. */
export async function slotsWithTap(): Promise<number[]> {
  // Not /sys/class/net: /sys may be mounted for another network namespace.
  const lines = (await readFile('/proc/self/net/dev', 'utf8')).split('\n')
  return lines.flatMap((line) => slotOfTap(line.split(':')[0]?.trim() ?? '') ?? [])
}

/** What passed a TAP since its creation, from the guest's point of view. */
export interface TapTraffic {
  readonly inBytes: number
  readonly outBytes: number
}

export interface TapCounters extends TapTraffic {
  /** In both directions. */
  readonly packets: number
}

/** Traffic by slot, for all TAPs in this network namespace. Reading one file for all is several times cheaper than one per TAP. */
export async function tapTraffic(): Promise<Map<number, TapCounters>> {
  return parseTraffic(await readFile('/proc/self/net/dev', 'utf8'))
}

/** @param text the content of /proc/net/dev */
export function parseTraffic(text: string): Map<number, TapCounters> {
  const traffic = new Map<number, TapCounters>()
  for (const line of text.split('\n')) {
    const [name = '', counters = ''] = line.split(':')
    const slot = slotOfTap(name.trim())
    if (slot === null) continue
    // Columns: eight counters of what the host received, which the guest has sent, then eight of what the host sent. The first
    // two of each are bytes and packets.
    const values = counters.trim().split(/\s+/).map(Number)
    const [sent = 0, sentPackets = 0, received = 0, receivedPackets = 0] = [0, 1, 8, 9].map((column) => values[column])
    traffic.set(slot, { inBytes: received, outBytes: sent, packets: sentPackets + receivedPackets })
  }
  return traffic
}

async function set(tap: string): Promise<void> {
  const ipv4 = `${SETTINGS}/ipv4/conf/${tap}`
  await Promise.all([
    writeFile(`${ipv4}/forwarding`, '1'),
    // The host answers ARP only for its address on this TAP: a guest must not learn the host's other addresses.
    writeFile(`${ipv4}/arp_ignore`, '2'),
    writeFile(`${ipv4}/rp_filter`, '1'),
    writeFile(`${ipv4}/accept_redirects`, '0'),
    writeFile(`${ipv4}/send_redirects`, '0'),
    writeFile(`${ipv4}/route_localnet`, '0'),
    disableIpv6(`${SETTINGS}/ipv6/conf/${tap}/disable_ipv6`),
  ])
}

async function disableIpv6(path: string): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  if (isThere) await writeFile(path, '1')
}

async function feedIp(lines: readonly string[]): Promise<void> {
  await feedProgram('ip', ['-batch', '-'], `${lines.join('\n')}\n`, Deadline.after(CHANGE_MS, 'change of TAPs'))
}
