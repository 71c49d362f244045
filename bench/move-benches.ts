import { openDatabase } from '@offshoot/control/platform/db/database'
import type { HostDetail } from '@offshoot/contract/host'
import { call } from '../tests/setup/http.ts'
import { JoinedMachine } from '../tests/setup/joined-machine.ts'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { hold } from './cleanup.ts'
import { configOf } from './limits-benches.ts'
import { type Figure, Samples } from './measure.ts'

const MIB = 1024 * 1024
/** OFFSHOOT_BENCH_MOVES: number of samples of each figure. */
const ROUNDS = Number(process.env['OFFSHOOT_BENCH_MOVES'] ?? 5)
/** Sandboxes of the host that is drained. */
const DRAINED = 5
const DRAIN_MS = 300_000
/** A user's typical work: dirty pages and a file. */
const WORK = 'head -c 8388608 /dev/urandom > /dev/shm/memory; head -c 1048576 /dev/urandom > /root/file; sync'

interface Move {
  readonly seconds: number
  readonly mib: number
}

/** Two hosts on this machine: the one of `bin/up`, and one that has joined from a network namespace of its own. */
class TwoHosts {
  readonly offshoot: Offshoot
  readonly first: string
  readonly second: string

  private constructor(offshoot: Offshoot, first: string, second: string) {
    this.offshoot = offshoot
    this.first = first
    this.second = second
  }

  static async use<T>(measure: (hosts: TwoHosts) => Promise<T>): Promise<T> {
    const releases: (() => Promise<void>)[] = []
    try {
      const offshoot = await Offshoot.startFirst('moves')
      releases.push(hold(() => offshoot.destroy()))
      const machine = new JoinedMachine()
      releases.push(hold(() => machine.destroy()))
      return await measure(await TwoHosts.#join(offshoot, machine))
    } finally {
      for (const release of releases.toReversed()) await release()
    }
  }

  static async #join(offshoot: Offshoot, machine: JoinedMachine): Promise<TwoHosts> {
    await machine.layOut(offshoot.credentials.base_url)
    const [first] = await operate(offshoot, 'GET', '')
    const { token } = await operate(offshoot, 'POST', '/tokens')
    const exitCode = await machine.up('--join', machine.controlUrl, '--token', token)
    if (exitCode !== null) throw new Error(`the second machine did not join:\n${machine.output}`)
    const second = await until('both hosts to be ready', async () => {
      const hosts = (await operate(offshoot, 'GET', '')) as HostDetail[]
      return hosts.find(({ id, state }) => id !== first.id && state === 'ready')
    })
    return new TwoHosts(offshoot, first.id, second.id)
  }

  /** Creates a sandbox on the first host, with work done. */
  async create(): Promise<string> {
    await operate(this.offshoot, 'POST', `/${this.second}/cordon`)
    await operate(this.offshoot, 'POST', `/${this.first}/uncordon`)
    const { id } = await this.offshoot.create({ template: 'minimal', persistent: true })
    await this.offshoot.exec(id, WORK)
    await operate(this.offshoot, 'POST', `/${this.second}/uncordon`)
    return id
  }

  /** Gives every sandbox of one host to the other one. @returns the seconds of the drain */
  async drain(from: string, sandboxes: number): Promise<number> {
    const to = from === this.first ? this.second : this.first
    await operate(this.offshoot, 'POST', `/${to}/uncordon`)
    await operate(this.offshoot, 'POST', `/${from}/drain`)
    const isOver = async () => {
      const { drain } = (await operate(this.offshoot, 'GET', `/${from}`)) as HostDetail
      return drain?.ended_at == null ? null : { ...drain, ended_at: drain.ended_at }
    }
    const ended = await until('the host to be drained', isOver, DRAIN_MS)
    if (ended.moved !== sandboxes) throw new Error(`moved ${ended.moved} of ${sandboxes}: ${JSON.stringify(ended)}`)
    return (Date.parse(ended.ended_at) - Date.parse(ended.begun_at)) / 1000
  }

  async hibernate(id: string): Promise<void> {
    const { status, text } = await this.offshoot.request('POST', `/v1/sandboxes/${id}/hibernate`, { body: {} })
    if (status !== 200) throw new Error(`hibernate answered ${status}: ${text}`)
  }

  /** The last move of the sandbox, as its row says it. */
  async lastMove(id: string): Promise<Move> {
    const config = await configOf(this.offshoot)
    const database = openDatabase(config.database, () => undefined)
    try {
      const { rows } = await database.pool.query(
        `select extract(epoch from finished_at - created_at)::float as seconds, bytes from sandbox_moves
         where sandbox_id = $1 and state = 'done' order by created_at desc limit 1`,
        [id],
      )
      return { seconds: rows[0].seconds, mib: Number(rows[0].bytes) / MIB }
    } finally {
      await database.close()
    }
  }
}

/** @throws Error if the answer is no success */
async function operate({ credentials }: Offshoot, method: string, path: string) {
  const { base_url: url, operator_key: key } = credentials
  const answer = await call(method, `${url}/v1/admin/hosts${path}`, { headers: { authorization: `Bearer ${key}` } })
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  return answer.body
}

/** Moves between two hosts of sandboxes that hibernate, wakes after them, and drains of a host. */
export async function moves(): Promise<Record<string, Figure>> {
  return TwoHosts.use(async (hosts) => ({ ...(await wakeOnOtherHost(hosts)), ...(await drainHost(hosts)) }))
}

/**
 * From the exec of a sandbox that has hibernated on one host and moved to another until its answer. Floor: the same for
 * a hibernation on the second host. Each first move of a round brings the bake, which the second host removes with the
 * last sandbox that needs it. The second move of a round does without.
 */
async function wakeOnOtherHost(hosts: TwoHosts): Promise<Record<string, Figure>> {
  const [moved, ordinary] = [new Samples(), new Samples()]
  const kinds = { move_with_bake: new MoveSamples(), move: new MoveSamples() }
  for (let round = 0; round < ROUNDS; round++) {
    const made: string[] = []
    for (const samples of Object.values(kinds)) {
      const id = await hosts.create()
      made.push(id)
      await hosts.hibernate(id)
      await hosts.drain(hosts.first, 1)
      samples.add(await hosts.lastMove(id))
      await moved.time(async () => hosts.offshoot.exec(id, 'true'))
      await hosts.hibernate(id)
      await ordinary.time(async () => hosts.offshoot.exec(id, 'true'))
    }
    for (const id of made) await hosts.offshoot.delete(id)
  }
  const ofMoves = Object.entries(kinds).flatMap(([name, { seconds, mib }]) => [
    [`${name}_s`, seconds.figure('s')],
    [`${name}_mib`, mib.figure('MiB')],
  ])
  return { wake_on_other_host_ms: moved.figure('ms', ordinary.p50), ...Object.fromEntries(ofMoves) }
}

class MoveSamples {
  readonly seconds = new Samples()
  readonly mib = new Samples()

  add(move: Move): void {
    this.seconds.add(move.seconds)
    this.mib.add(move.mib)
  }
}

/**
 * From the request to drain a host with five small sandboxes that run until the end of the drain, forth and back. The
 * first drain brings the bake; the hosts have it afterwards or made it.
 */
async function drainHost(hosts: TwoHosts): Promise<Record<string, Figure>> {
  const seconds = new Samples()
  for (let made = 0; made < DRAINED; made++) await hosts.create()
  for (let round = 0; round < ROUNDS; round++) {
    seconds.add(await hosts.drain(round % 2 === 0 ? hosts.first : hosts.second, DRAINED))
  }
  return { drain_host_s: seconds.figure('s') }
}
