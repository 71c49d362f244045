import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EgressException } from '@offshoot/contract/egress-exception'
import { Deadline } from '@offshoot/kit/deadline'
import { z } from 'zod'
import { runProgram } from '../host/run-program.ts'

const ASK_MS = 20_000
/** MTU in bytes for a host that has no uplink. */
const DEFAULT_MTU = 1500
/**
 * Folder below the agents' run folder with one file for each interface on which an agent enabled forwarding. /run is empty
 * after a boot, and so is the setting.
 */
const FOLDER = 'forwarding'

/** The name that ip(8) prints for an interface that disappeared while routes were being listed. */
const GONE = /^if\d+$/

const routes = z.array(z.object({ dst: z.string().optional(), dev: z.string().optional() }))

const links = z.array(z.object({ mtu: z.int() }))
/** Part of ip(8)'s error for an interface that does not exist. */
const NO_DEVICE = 'does not exist'

/** Interfaces through which the host reaches the internet and the operator's egress exceptions. */
export async function findUplinks(exceptions: readonly EgressException[]): Promise<string[]> {
  const found = await listInterfaces(['route', 'show', 'default'])
  for (const { cidr } of exceptions) {
    // There may be no route to it yet.
    const toward = await listInterfaces(['route', 'get', cidr.split('/')[0] ?? cidr]).catch(() => [])
    found.push(...toward)
  }
  return [...new Set(found)].filter((name) => name !== 'lo')
}

/** The interfaces of existing routes into an address range. */
export async function routesInto(cidr: string): Promise<string[]> {
  return listInterfaces(['route', 'show', 'root', cidr])
}

/** The largest packet that all uplinks carry unfragmented: the MTU of guests. */
export async function smallestMtu(uplinks: readonly string[]): Promise<number> {
  const mtus = await Promise.all(uplinks.map(mtuOf))
  return Math.min(DEFAULT_MTU, ...mtus.flatMap((mtu) => mtu ?? []))
}

/** Asks for one interface, because a list would contain the TAPs of thousands of guests. `null` if the interface is gone. */
async function mtuOf(name: string): Promise<number | null> {
  const deadline = Deadline.after(ASK_MS, `interface ${name}`)
  const answer = await runProgram('ip', ['-json', 'link', 'show', 'dev', name], deadline).catch((error: unknown) => {
    if (error instanceof Error && error.message.includes(NO_DEVICE)) return '[]'
    throw error
  })
  return links.parse(JSON.parse(answer))[0]?.mtu ?? null
}

/**
 * Enables forwarding on the uplinks, so that replies reach guests: the kernel forwards a packet only if forwarding is on for
 * the interface it arrived on. Not host-wide: that would make the host a router between its other interfaces.
 */
export async function forwardFrom(uplinks: readonly string[], runDir: string): Promise<void> {
  const folder = join(runDir, FOLDER)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const name of uplinks) {
    const setting = forwardingOf(name)
    if ((await readFile(setting, 'utf8')).trim() !== '0') continue
    await writeFile(join(folder, name), '')
    await writeFile(setting, '1')
  }
}

/** Undoes {@link forwardFrom}. Only for the last agent of the machine. */
export async function restoreForwarding(runDir: string): Promise<void> {
  const folder = join(runDir, FOLDER)
  for (const name of await readdir(folder).catch(() => [])) {
    // The interface may be gone, and its setting with it.
    await writeFile(forwardingOf(name), '0').catch(() => undefined)
    await rm(join(folder, name), { force: true })
  }
}

function forwardingOf(name: string): string {
  return `/proc/sys/net/ipv4/conf/${name}/forwarding`
}

/** The interfaces of listed routes. @param answer JSON of ip(8), which prints an empty string for an empty list */
export function interfacesOf(answer: string): string[] {
  const found = routes.parse(JSON.parse(answer === '' ? '[]' : answer)).flatMap(({ dev }) => dev ?? [])
  return found.filter((name) => !GONE.test(name))
}

async function listInterfaces(question: readonly string[]): Promise<string[]> {
  const answer = await runProgram('ip', ['-4', '-json', ...question], Deadline.after(ASK_MS, 'routes of the host'))
  return interfacesOf(answer)
}
