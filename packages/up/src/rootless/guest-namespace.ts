/**
 * The user and network namespace in which the agent and its VMs run without root. The agent is root there: it makes TAPs,
 * packet filters and jails as it does as root of the host.
 *
 * The namespaces live as long as any process in them: a keeper that sleeps, the agent, the launchers of VMs. pasta connects
 * them with the network of the host. Keeper and pasta outlive the services, as VMs do. Each can be killed at any time; this
 * class starts it again.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { spawn } from 'node:child_process'
import { Deadline } from '@offshoot/kit/deadline'
import { identifyProcess, isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { Semaphore } from '@offshoot/kit/semaphore'
import type { DataLayout } from '../base/data-layout.ts'
import { endProcess } from '../base/end-process.ts'
import { runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { findByWord, findMembers, KEEPER_VARIABLE } from './members.ts'
import { hasUplink, publicAddresses, startUplink, UPLINK } from './uplink.ts'
import { entering, makeUserNamespace } from './user-namespace.ts'

const HAS_NETWORK = { hasNetwork: true } as const
const WATCH_MS = 1000
/** Until the interface of a new pasta is there. */
const UPLINK_MS = 10_000
const POLL_MS = 20
/** Milliseconds before a pasta is started again that could not connect, as without a route to the internet. */
const RETRY_MS = 5000
const COMMAND_MS = 20_000
const END_MS = 5000
const MAX_WAITING = 64

/**
 * Packets of guests are forwarded, and those with a loopback address are not. pasta sends some segments without any flag
 * (those of Debian 12). The kernel cannot tell to which guest these belong, and would reset the connection.
 */
const SET_UP = [
  'sh',
  '-eu',
  '-c',
  `ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 0 >/proc/sys/net/ipv4/conf/all/route_localnet
exec nft -f -`,
]
const RULES = `
add table inet uplink
delete table inet uplink
table inet uplink {
  chain arriving {
    type filter hook prerouting priority filter; policy accept;
    iifname "${UPLINK}" ct state invalid drop
  }
}
`

export class GuestNamespace {
  readonly #layout: DataLayout
  #keeper: ProcessIdentity
  #uplink: ProcessIdentity | null = null
  /** Addresses of the host that the namespace has as its own. `null`: unknown. */
  #addresses: readonly string[] | null = null
  readonly #stopped = new AbortController()
  /** One caller at a time looks after a killed keeper. */
  readonly #restart = new Semaphore(1, MAX_WAITING)

  private constructor(layout: DataLayout, keeper: ProcessIdentity) {
    this.#layout = layout
    this.#keeper = keeper
  }

  /**
   * Finds the namespaces of this data directory, or makes them. The caller holds its lock.
   * @throws {SetupFailure} if this host does not allow them
   */
  static async open(layout: DataLayout, cancelled?: AbortSignal): Promise<GuestNamespace> {
    const keeper = (await findKeeper(layout)) ?? (await makeKeeper(layout, cancelled))
    await runIn(keeper, SET_UP, RULES)
    return new GuestNamespace(layout, keeper)
  }

  /** Command line that runs a program as root in the namespaces. Starts a killed keeper again. */
  async entering(): Promise<string[]> {
    await this.#restart.run(async () => {
      if (await isAlive(this.#keeper)) return
      const found = await findKeeper(this.#layout)
      this.#keeper = found ?? (await makeKeeper(this.#layout))
      this.#addresses = null
      if (found === null) await runIn(this.#keeper, SET_UP, RULES)
    })
    return entering(this.#keeper, HAS_NETWORK)
  }

  /**
   * Connects the namespaces with the network, and keeps them connected until {@link stopWatching}.
   * @param tell hears why they are not connected, each time that changes
   * @returns when they are connected, or cannot be for now
   */
  async connect(tell: (line: string) => void): Promise<void> {
    let told = ''
    const tellOnce = (line: string) => {
      if (line !== told && line !== '') tell(line)
      told = line
    }
    tellOnce(await this.#keepConnected())
    void this.#watch(tellOnce)
  }

  stopWatching(): void {
    this.#stopped.abort()
  }

  /**
   * Gives the files of mapped ids to the user, who can then remove the data directory. No VM may run: each VM gets new files
   * when it starts.
   */
  async takeFiles(): Promise<void> {
    const chown = ['-exec', 'chown', '-h', '0:0', '{}', '+']
    await runIn(this.#keeper, ['find', this.#layout.agent, '-xdev', '!', '-uid', '0', ...chown])
  }

  /** Ends the namespaces unless another process than the keeper is in them. */
  async endIfUnused(): Promise<void> {
    if ((await findMembers(this.#layout)).every(({ isKeeper }) => isKeeper)) await endNamespaces(this.#layout)
  }

  async #watch(tell: (line: string) => void): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const problem = await this.#keepConnected()
      tell(problem)
      await delay(problem === '' ? WATCH_MS : RETRY_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** @returns why the namespaces are not connected; empty if they are */
  async #keepConnected(): Promise<string> {
    try {
      await this.entering()
      if (this.#uplink === null || !(await isAlive(this.#uplink)) || !(await hasUplink(this.#keeper))) {
        this.#uplink = await this.#connectAnew()
        if (this.#uplink === null) return `Sandboxes have no way out: see ${this.#logPath}.`
      }
      await this.#haveAddresses()
      return ''
    } catch (error) {
      return `Sandboxes may have no way out: ${error instanceof Error ? error.message : String(error)}`
    }
  }

  /** Adopts the pasta of an earlier start. Ends those of namespaces that are gone. */
  async #connectAnew(): Promise<ProcessIdentity | null> {
    const running = await findByWord(this.#logPath)
    const [first, ...others] = running
    if (first !== undefined && others.length === 0 && (await hasUplink(this.#keeper))) return first
    for (const each of running) await endProcess(each, 'SIGTERM', END_MS)
    const started = await startUplink(this.#keeper, this.#logPath)
    if (started === null) return null
    const deadline = Deadline.after(UPLINK_MS, 'interface of pasta', this.#stopped.signal)
    while (deadline.remainingMs > 0 && (await isAlive(started))) {
      if (await hasUplink(this.#keeper)) return started
      await delay(POLL_MS)
    }
    await endProcess(started, 'SIGTERM', END_MS)
    return null
  }

  async #haveAddresses(): Promise<void> {
    const wanted = publicAddresses()
    if (this.#addresses !== null && wanted.join() === this.#addresses.join()) return
    const lines = [
      'address flush dev lo scope global',
      ...wanted.map((address) => `address replace ${address}/32 dev lo`),
    ]
    await runIn(this.#keeper, ['ip', '-batch', '-'], `${lines.join('\n')}\n`)
    this.#addresses = wanted
  }

  get #logPath(): string {
    return uplinkLog(this.#layout)
  }
}

/** Ends the keeper and the pasta of a data directory. Idempotent. */
export async function endNamespaces(layout: DataLayout): Promise<void> {
  const keepers = (await findMembers(layout)).filter(({ isKeeper }) => isKeeper)
  for (const each of await findByWord(uplinkLog(layout))) await endProcess(each, 'SIGTERM', END_MS)
  for (const { process } of keepers) await endProcess(process, 'SIGKILL', END_MS)
}

async function runIn(keeper: ProcessIdentity, command: readonly string[], input = ''): Promise<void> {
  const [file = '', ...args] = [...entering(keeper, HAS_NETWORK), ...command]
  await runCommand(file, args, { deadline: Deadline.after(COMMAND_MS, `${command[0]} in the namespaces`), input })
}

function uplinkLog({ logs }: DataLayout): string {
  return `${logs}/pasta.log`
}

/** Finds the keeper. If it was killed while other processes kept the namespaces, makes another one in them. */
async function findKeeper(layout: DataLayout): Promise<ProcessIdentity | null> {
  const members = await findMembers(layout)
  const keeper = members.find(({ isKeeper }) => isKeeper) ?? null
  if (keeper !== null || members[0] === undefined) return keeper?.process ?? null
  const [file, ...args] = [...entering(members[0].process, HAS_NETWORK), 'sleep', 'infinity']
  const env = { ...process.env, [KEEPER_VARIABLE]: layout.dir }
  const child = spawn(file, args, { cwd: '/', stdio: 'ignore', detached: true, env })
  child.on('error', () => undefined) // it has no pid then
  child.unref()
  const deadline = Deadline.after(COMMAND_MS, 'another keeper of the namespaces')
  const isThere = async () => (await findMembers(layout)).some((each) => each.process.pid === child.pid)
  while (!(await isThere())) {
    deadline.throwIfOver()
    if (child.exitCode !== null) throw new SetupFailure('The namespaces of running sandboxes cannot be entered.')
    await delay(POLL_MS)
  }
  return child.pid === undefined ? null : identifyProcess(child.pid)
}

async function makeKeeper(layout: DataLayout, cancelled?: AbortSignal): Promise<ProcessIdentity> {
  const env = { [KEEPER_VARIABLE]: layout.dir }
  return makeUserNamespace({ ...HAS_NETWORK, isLasting: true, env }, cancelled)
}
