/**
 * The way of a network namespace to the world, without root: pasta(1) copies packets between an interface in the namespace
 * and ordinary sockets of the host.
 */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { BlockList } from 'node:net'
import { RESERVED_NETWORKS } from '@offshoot/contract/reserved-networks'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'

/** Name of the interface in the namespace. */
export const UPLINK = 'up0'
/** Addresses of a network that no host routes (RFC 7335). They are the same on every host, so the rules need not change. */
const ADDRESSES = { own: '192.0.0.2', mask: '255.255.255.248', gateway: '192.0.0.1' } as const
/** Stands for the host's first name server, if that listens on the host's loopback. */
export const RESOLVER = '192.0.0.3'

/**
 * - No port is forwarded in either direction (`-t`, `-u`, `-T`, `-U`).
 * - The gateway's address does not stand for the host (`--no-map-gw`).
 */
const OPTIONS = [
  ['--foreground', '--quiet', '--config-net', '--ipv4-only', '--no-map-gw'],
  ['--no-dhcp', '--no-dhcpv6', '--no-ndp', '--no-ra'],
  ['-t', 'none', '-u', 'none', '-T', 'none', '-U', 'none'],
  ['--address', ADDRESSES.own, '--netmask', ADDRESSES.mask, '--gateway', ADDRESSES.gateway],
  ['--ns-ifname', UPLINK],
].flat()
const LOOPBACK_SERVER = /^nameserver[ \t]+127\./m
const FIRST_SERVER = /^nameserver[ \t].*$/m

/**
 * Starts a pasta that outlives this process.
 * @param member a process in the namespace
 * @param log file of its messages, by which others find it
 * @returns `null` if it could not be started
 */
export async function startUplink(member: ProcessIdentity, log: string): Promise<ProcessIdentity | null> {
  const servers = await readFile('/etc/resolv.conf', 'utf8').catch(() => '')
  const line = [...OPTIONS, ...forwardedResolver(servers), '--log-file', log, String(member.pid)]
  const child = spawn('pasta', line, { cwd: '/', stdio: 'ignore', detached: true })
  child.on('error', () => undefined) // it has no pid then
  child.unref()
  return child.pid === undefined ? null : identifyProcess(child.pid)
}

/**
 * pasta's option for a name server on the host's loopback. For another server it would be wrong: pasta gives the answers of the
 * first server the address that stands for it, and a client that asked the server itself does not take them.
 */
export function forwardedResolver(resolvConf: string): string[] {
  const first = FIRST_SERVER.exec(resolvConf)?.[0] ?? ''
  return LOOPBACK_SERVER.test(first) ? ['--dns-forward', RESOLVER] : []
}

/** Whether the namespace of a process has the interface of a running pasta: it disappears with its pasta. */
export async function hasUplink({ pid }: ProcessIdentity): Promise<boolean> {
  const lines = (await readFile(`/proc/${pid}/net/dev`, 'utf8').catch(() => '')).split('\n')
  return lines.some((line) => line.trim().startsWith(`${UPLINK}:`))
}

/**
 * Public addresses of this host. pasta would connect guests to them like to any other public address, so the namespace has
 * them as its own, where the packet filter refuses guests. Its rules refuse all other addresses of the host by themselves.
 */
export function publicAddresses(interfaces = networkInterfaces()): string[] {
  const reserved = new BlockList()
  for (const network of RESERVED_NETWORKS) {
    const [address = '', prefix = ''] = network.split('/')
    reserved.addSubnet(address, Number(prefix))
  }
  const addresses = Object.values(interfaces).flatMap((each) => each ?? [])
  const found = addresses.filter(({ family, address }) => family === 'IPv4' && !reserved.check(address))
  return [...new Set(found.map(({ address }) => address))].toSorted()
}
