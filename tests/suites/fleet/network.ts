import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { type Direction, losePackets, passPackets } from '../../setup/packet-loss.ts'

const execute = promisify(execFile)

async function run(line: string): Promise<void> {
  const [program = '', ...args] = line.split(' ')
  await execute(program, args)
}

/** Machines on one switch. Each is a network namespace, and this process has the first address. */
export class Network {
  /** The name of control's address, at {@link address}. */
  static readonly api = 'api.example'
  readonly #name = `of${process.pid}`
  // Several runs may share the machine.
  readonly #prefix = `10.97.${1 + (process.pid % 250)}`
  readonly #machines: Machine[] = []

  /** Of this process, for the machines. */
  get address(): string {
    return `${this.#prefix}.1`
  }

  async layOut(): Promise<void> {
    await run(`ip link add ${this.#name} type bridge`)
    await run(`ip address add ${this.address}/24 dev ${this.#name}`)
    await run(`ip link set ${this.#name} up`)
  }

  /** @param number of its address, from 2 */
  async machine(number: number): Promise<Machine> {
    const machine = new Machine(`${this.#name}x${number}`, `${this.#prefix}.${number}`)
    this.#machines.push(machine)
    await machine.layOut(this.#name, this.address)
    return machine
  }

  async destroy(): Promise<void> {
    for (const machine of this.#machines) await machine.destroy()
    await run(`ip link delete ${this.#name}`).catch(() => undefined)
  }
}

export class Machine {
  readonly address: string
  readonly #name: string

  constructor(name: string, address: string) {
    this.#name = name
    this.address = address
  }

  /** The command line that runs a program there. */
  running(...line: readonly string[]): string[] {
    return ['ip', 'netns', 'exec', this.#name, ...line]
  }

  async layOut(bridge: string, gateway: string): Promise<void> {
    const name = this.#name
    await run(`ip netns add ${name}`)
    await run(`ip link add ${name} type veth peer name up0 netns ${name}`)
    await run(`ip link set ${name} master ${bridge} up`)
    await run(`ip -n ${name} link set lo up`)
    await run(`ip -n ${name} address add ${this.address}/24 dev up0`)
    await run(`ip -n ${name} link set up0 up`)
    await run(`ip -n ${name} route add default via ${gateway}`)
    await mkdir(`/etc/netns/${name}`, { recursive: true })
    await writeFile(`/etc/netns/${name}/hosts`, `127.0.0.1 localhost\n${gateway} ${Network.api}\n`)
  }

  /** Loses packets without an error for anybody. */
  async cut(direction: Direction): Promise<void> {
    await losePackets(this.#name, direction)
  }

  async heal(): Promise<void> {
    await passPackets(this.#name)
  }

  /** Names of the interfaces there. */
  async interfaces(): Promise<string[]> {
    const { stdout } = await execute('ip', ['-j', '-n', this.#name, 'link'])
    return (JSON.parse(stdout) as { ifname: string }[]).map(({ ifname }) => ifname)
  }

  async destroy(): Promise<void> {
    await run(`ip netns delete ${this.#name}`).catch(() => undefined)
    await rm(`/etc/netns/${this.#name}`, { recursive: true, force: true })
  }
}
