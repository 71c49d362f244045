import { access, readFile, writeFile } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { feedProgram } from '../host/feed-program.ts'
import { GATEWAY_MAC, SLOT_PREFIX_BITS, slotOfTap, type SlotAddress } from './slot-address.ts'

const CHANGE_MS = 20_000
const SETTINGS = '/proc/sys/net'
/** Packets that wait for a guest at most: the host's default would hold them for a second and more. */
const QUEUE_PACKETS = 500

/**
 * Makes the TAPs of slots, each with the host's address and the guest's as a neighbour for good. They stay when the QEMU
 * that holds one ends.
 */
export async function makeTaps(slots: readonly SlotAddress[], mtu: number): Promise<void> {
  if (slots.length === 0) return
  // Of an attempt that failed halfway.
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
  // Only now: nothing passes before everything is as it shall be.
  await feedIp(slots.map(({ tap }) => `link set dev ${tap} up`))
}

export async function removeTaps(taps: readonly string[]): Promise<void> {
  if (taps.length > 0) await feedIp(taps.map((tap) => `link delete dev ${tap}`))
}

/** Slots that have a TAP, of any agent in this network namespace. */
export async function slotsWithTap(): Promise<number[]> {
  // Not /sys: what is mounted there may be another namespace's.
  const lines = (await readFile('/proc/self/net/dev', 'utf8')).split('\n')
  return lines.flatMap((line) => slotOfTap(line.split(':')[0]?.trim() ?? '') ?? [])
}

/** Bytes that passed a TAP since it was made, as its guest sees them. */
export interface TapTraffic {
  readonly inBytes: number
  readonly outBytes: number
}

/** By slot, of every TAP in this network namespace. One read for all: a file each costs several times as much. */
export async function tapTraffic(): Promise<Map<number, TapTraffic>> {
  const lines = (await readFile('/proc/self/net/dev', 'utf8')).split('\n')
  const traffic = new Map<number, TapTraffic>()
  for (const line of lines) {
    const [name = '', counters = ''] = line.split(':')
    const slot = slotOfTap(name.trim())
    if (slot === null) continue
    // Received bytes, seven other counters, sent bytes: what the host receives is what the guest sends.
    const values = counters.trim().split(/\s+/).map(Number)
    traffic.set(slot, { inBytes: values[8] ?? 0, outBytes: values[0] ?? 0 })
  }
  return traffic
}

async function set(tap: string): Promise<void> {
  const ipv4 = `${SETTINGS}/ipv4/conf/${tap}`
  await Promise.all([
    writeFile(`${ipv4}/forwarding`, '1'),
    // Answers for no address but that of this network: a guest must not find out which ones the host has.
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
