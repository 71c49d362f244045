import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AgentProcess, type AgentOptions, eventually } from './agent-process.ts'

const run = promisify(execFile)

/** Addresses of the simulated internet. No packet can leave the two network namespaces. */
export const PUBLIC = '93.184.216.34'
export const OTHER_PUBLIC = '1.1.1.1'
const METADATA = '169.254.169.254'
export const PRIVATE = '10.99.0.1'
export const FORBIDDEN = [
  METADATA,
  PRIVATE,
  '172.20.0.1',
  '192.168.99.1',
  '100.64.0.9',
  '198.18.0.9',
  '203.0.113.5',
] as const
/** Addresses of the host and of its router in the host's network. */
export const HOST = '192.168.77.2'
export const ROUTER = '192.168.77.1'
export const UPLINK_MTU = 1400
const PORTS = [80, 443, 8080, 8081]

/** nftables rules that count packets to the outside, by destination address. */
const COUNT = [
  'table inet heard {',
  'set packets { type ipv4_addr; size 4096; flags dynamic; counter; }',
  'chain arriving { type filter hook prerouting priority raw;',
  'iifname "down0" add @packets { ip daddr }',
  '}',
  '}',
].join('\n')

/** A shell command that sends an HTTP request and prints the whole response. The path may contain shell variables. */
export function request(address: string, path: string, port = 80): string {
  return `printf 'GET %s HTTP/1.0\\r\\n\\r\\n' "${path}" | nc -w 9 ${address} ${port}`
}

/** Like {@link request}, but prints the last line only: the path, and the source address that the outside saw. */
export function get(address: string, path: string): string {
  return `${request(address, path)} | tail -n 1`
}

/** Connects a guest to an echo server: sends /tmp/in and writes replies to /tmp/out. Appends `ended` when the connection ends. */
export function connected(): string {
  const kept = `exec 3<>/tmp/in; nc ${PUBLIC} 7 <&3 >/tmp/out 2>/dev/null; echo ended >>/tmp/out`
  return `mkfifo /tmp/in; (${kept}) >/dev/null 2>&1 & until grep -q ':0007 01 ' /proc/net/tcp; do sleep 0.05; done`
}

export interface Heard {
  readonly kind: 'http' | 'dns' | 'opened' | 'reset' | 'closed' | 'ready'
  readonly from?: string
  readonly to?: string
  readonly port?: number
  readonly url?: string
  readonly name?: string
  readonly remotePort?: number
}

/**
 * A host in one network namespace, and the simulated internet behind its only uplink in another one, which counts every packet
 * that reaches it. A separate link connects the test to the host's agent.
 */
export class TestWorld {
  readonly host: string
  readonly outside: string
  readonly agent: AgentProcess
  readonly heard: Heard[] = []
  readonly #server: ChildProcess

  private constructor(names: { host: string; outside: string }, agent: AgentProcess, server: ChildProcess) {
    this.host = names.host
    this.outside = names.outside
    this.agent = agent
    this.#server = server
    let rest = ''
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.heard.push(JSON.parse(line) as Heard)
    })
  }

  static async create(options: AgentOptions = {}, rights: readonly string[] = []): Promise<TestWorld> {
    const id = randomInt(1, 16_000)
    const names = { host: `ofh${id}`, outside: `ofo${id}` }
    const link = `198.19.${id >> 6}.${(id & 63) * 4}`
    const address = await layOut(names, link, `ofl${id}`)
    const under = ['ip', 'netns', 'exec', names.host, ...rights]
    const agent = await AgentProcess.create(undefined, options, { host: address, under })
    const server = startIn(names.outside, [process.execPath, join(import.meta.dirname, 'outside.ts'), PORTS.join(',')])
    const world = new TestWorld(names, agent, server)
    await eventually('the outside', async () => world.heard.some(({ kind }) => kind === 'ready'))
    return world
  }

  /** Another agent with the same data on the same host. Only one may run. @param rights command line that wraps its programs */
  async beside(rights: readonly string[]): Promise<AgentProcess> {
    const under = ['ip', 'netns', 'exec', this.host, ...rights]
    return AgentProcess.create(this.agent.folder, {}, { host: new URL(this.agent.url).hostname, under })
  }

  /** The output of a program in the host's namespace. */
  async onHost(...command: readonly string[]): Promise<string> {
    const { stdout } = await run('ip', ['netns', 'exec', this.host, ...command], { maxBuffer: 2 ** 26 })
    return stdout
  }

  /** Starts a server on the host, on all addresses and the given ports. It reports every request. */
  listenOnHost(ports: readonly number[]): ChildProcess {
    return startIn(this.host, [process.execPath, join(import.meta.dirname, 'outside.ts'), ports.join(',')])
  }

  /** Packets that reached the outside, by destination address. */
  async packets(): Promise<Map<string, number>> {
    const list = ['nft', '-j', 'list', 'set', 'inet', 'heard', 'packets']
    const { stdout } = await run('ip', ['netns', 'exec', this.outside, ...list], { maxBuffer: 2 ** 26 })
    const { nftables } = JSON.parse(stdout) as {
      nftables: { set?: { elem?: { elem: { val: string; counter: { packets: number } } }[] } }[]
    }
    const elements = nftables.flatMap(({ set }) => set?.elem ?? [])
    return new Map(elements.map(({ elem }) => [elem.val, elem.counter.packets]))
  }

  /** Bytes a second of the guests at these addresses, where they have a rate of their own; `null`: they have none. */
  async ratesOf(...addresses: readonly (string | null | undefined)[]): Promise<(number | null)[]> {
    const sets = await this.onHost('nft', 'list', 'sets', 'inet')
    const held = [...sets.matchAll(/set held_(\d+) \{[^}]*elements = \{([^}]*)\}/g)]
    return addresses.map((address) => {
      const tap = new RegExp(`"(\\w+)" \\. [\\w:]+ \\. ${address}\\b`).exec(sets)?.[1]
      const rates = held.flatMap(([, rate, taps = '']) => (taps.includes(`"${tap}"`) ? [Number(rate)] : []))
      if (tap === undefined || rates.length > 1) throw new Error(`no rate of ${address} in ${sets}`)
      return rates[0] ?? null
    })
  }

  async close(): Promise<void> {
    await this.agent.destroy()
    const ended = once(this.#server, 'exit')
    this.#server.kill('SIGKILL')
    await ended
    await removeNamespaces(this)
  }
}

function startIn(namespace: string, command: readonly string[]): ChildProcess {
  return spawn('ip', ['netns', 'exec', namespace, ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Creates the namespaces and links. @returns the address at which the test reaches the host */
async function layOut(names: { host: string; outside: string }, link: string, device: string): Promise<string> {
  const third = (count: number) => link.replace(/\d+$/, (last) => String(Number(last) + count))
  // `ip netns exec` mounts these files over those in /etc.
  await mkdir(`/etc/netns/${names.host}`, { recursive: true })
  await writeFile(`/etc/netns/${names.host}/resolv.conf`, `nameserver ${ROUTER}\n`)
  const ip = (line: string) => run('ip', line.split(' '))
  for (const name of [names.host, names.outside]) {
    await ip(`netns add ${name}`)
    await ip(`-n ${name} link set lo up`)
  }
  await ip(`link add ${device} type veth peer name test netns ${names.host}`)
  await ip(`address add ${third(1)}/30 dev ${device}`)
  await ip(`link set ${device} up`)
  await ip(`-n ${names.host} address add ${third(2)}/30 dev test`)
  await ip(`-n ${names.host} link set test up`)
  await ip(`-n ${names.host} link add up0 mtu ${UPLINK_MTU} type veth peer name down0 netns ${names.outside}`)
  await ip(`-n ${names.host} address add ${HOST}/24 dev up0`)
  await ip(`-n ${names.host} link set up0 up`)
  await ip(`-n ${names.outside} address add ${ROUTER}/24 dev down0`)
  await ip(`-n ${names.outside} link set down0 mtu ${UPLINK_MTU} up`)
  await ip(`-n ${names.host} route add default via ${ROUTER}`)
  for (const address of [PUBLIC, OTHER_PUBLIC, ...FORBIDDEN])
    await ip(`-n ${names.outside} address add ${address}/32 dev lo`)
  await run('ip', ['netns', 'exec', names.outside, 'nft', COUNT])
  return third(2)
}

async function removeNamespaces({ host, outside }: { host: string; outside: string }): Promise<void> {
  for (const name of [host, outside]) await run('ip', ['netns', 'delete', name])
  await rm(`/etc/netns/${host}`, { recursive: true, force: true })
}
