import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EgressException } from '@offshoot/contract/egress-exception'
import { Deadline } from '@offshoot/kit/deadline'
import { z } from 'zod'
import { runProgram } from '../host/run-program.ts'

const ASK_MS = 20_000
/** Bytes of a packet where the host has no way out itself. */
const DEFAULT_MTU = 1500
/** Where it is noted which interfaces did not forward before us; gone after a boot, as the setting is. */
const FOLDER = '/run/offshoot/forwarding'

/** What ip(8) calls an interface that went while its routes were listed. */
const GONE = /^if\d+$/

const routes = z.array(z.object({ dst: z.string().optional(), dev: z.string().optional() }))

const links = z.array(z.object({ mtu: z.int() }))
/** What ip(8) says of an interface that is not there. */
const NO_DEVICE = 'does not exist'

/** Interfaces over which the host reaches the internet and what operators have allowed besides. */
export async function findUplinks(exceptions: readonly EgressException[]): Promise<string[]> {
  const found = await listInterfaces(['route', 'show', 'default'])
  for (const { cidr } of exceptions) {
    // One to which there is no way yet.
    const toward = await listInterfaces(['route', 'get', cidr.split('/')[0] ?? cidr]).catch(() => [])
    found.push(...toward)
  }
  return [...new Set(found)].filter((name) => name !== 'lo')
}

/** The routes that already lead into a range of addresses, by the interface's name. */
export async function routesInto(cidr: string): Promise<string[]> {
  return listInterfaces(['route', 'show', 'root', cidr])
}

/** The most that all of them take whole: a guest's packets are as large as the smallest wants. */
export async function smallestMtu(uplinks: readonly string[]): Promise<number> {
  const mtus = await Promise.all(uplinks.map(mtuOf))
  return Math.min(DEFAULT_MTU, ...mtus.flatMap((mtu) => mtu ?? []))
}

/** Asks for one interface: a list would hold the TAPs of thousands of guests. `null` for an interface that is gone. */
async function mtuOf(name: string): Promise<number | null> {
  const deadline = Deadline.after(ASK_MS, `interface ${name}`)
  const answer = await runProgram('ip', ['-json', 'link', 'show', 'dev', name], deadline).catch((error: unknown) => {
    if (error instanceof Error && error.message.includes(NO_DEVICE)) return '[]'
    throw error
  })
  return links.parse(JSON.parse(answer))[0]?.mtu ?? null
}

/**
 * Lets the answers to guests in: a packet is passed on when the interface it came in by forwards. Not for the whole host:
 * whoever has other interfaces has not asked for a router.
 */
export async function forwardFrom(uplinks: readonly string[]): Promise<void> {
  await mkdir(FOLDER, { recursive: true, mode: 0o700 })
  for (const name of uplinks) {
    const setting = forwardingOf(name)
    if ((await readFile(setting, 'utf8')).trim() !== '0') continue
    await writeFile(join(FOLDER, name), '')
    await writeFile(setting, '1')
  }
}

/** As it was before; for the last agent of the machine that goes. */
export async function restoreForwarding(): Promise<void> {
  for (const name of await readdir(FOLDER).catch(() => [])) {
    // It may be gone, and its setting with it.
    await writeFile(forwardingOf(name), '0').catch(() => undefined)
    await rm(join(FOLDER, name), { force: true })
  }
}

function forwardingOf(name: string): string {
  return `/proc/sys/net/ipv4/conf/${name}/forwarding`
}

/** Those that routes lead to. @param answer of ip(8), which says nothing at all where there are none */
export function interfacesOf(answer: string): string[] {
  const found = routes.parse(JSON.parse(answer === '' ? '[]' : answer)).flatMap(({ dev }) => dev ?? [])
  return found.filter((name) => !GONE.test(name))
}

async function listInterfaces(question: readonly string[]): Promise<string[]> {
  const answer = await runProgram('ip', ['-4', '-json', ...question], Deadline.after(ASK_MS, 'routes of the host'))
  return interfacesOf(answer)
}
