import { openDatabase } from '@offshoot/control/platform/db/database'
import { configOf } from './limits-benches.ts'
import { type Figure, Samples } from './measure.ts'
import { TwoHosts } from './two-hosts.ts'

const MIB = 1024 * 1024
/** OFFSHOOT_BENCH_MOVES: number of samples of each figure. */
const ROUNDS = Number(process.env['OFFSHOOT_BENCH_MOVES'] ?? 5)
/** Sandboxes of the host that is drained. */
const DRAINED = 5
/** A user's typical work: dirty pages and a file. */
const WORK = 'head -c 8388608 /dev/urandom > /dev/shm/memory; head -c 1048576 /dev/urandom > /root/file; sync'

interface Move {
  readonly seconds: number
  readonly mib: number
}

/** Creates a sandbox on the first host, with work done. */
async function create(hosts: TwoHosts): Promise<string> {
  return hosts.onlyOn(hosts.first, async () => {
    const { id } = await hosts.offshoot.create({ template: 'minimal', persistent: true })
    await hosts.offshoot.exec(id, WORK)
    return id
  })
}

async function hibernate({ offshoot }: TwoHosts, id: string): Promise<void> {
  const { status, text } = await offshoot.request('POST', `/v1/sandboxes/${id}/hibernate`, { body: {} })
  if (status !== 200) throw new Error(`hibernate answered ${status}: ${text}`)
}

/** The last move of the sandbox, as its row says it. */
async function lastMove({ offshoot }: TwoHosts, id: string): Promise<Move> {
  const config = await configOf(offshoot)
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

/** Moves between two hosts of sandboxes that hibernate, wakes after them, and drains of a host. */
export async function moves(): Promise<Record<string, Figure>> {
  return TwoHosts.use('moves', async (hosts) => ({ ...(await wakeOnOtherHost(hosts)), ...(await drainHost(hosts)) }))
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
      const id = await create(hosts)
      made.push(id)
      await hibernate(hosts, id)
      await hosts.drain(hosts.first, 1)
      samples.add(await lastMove(hosts, id))
      await moved.time(async () => hosts.offshoot.exec(id, 'true'))
      await hibernate(hosts, id)
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
  for (let made = 0; made < DRAINED; made++) await create(hosts)
  for (let round = 0; round < ROUNDS; round++) {
    seconds.add(await hosts.drain(round % 2 === 0 ? hosts.first : hosts.second, DRAINED))
  }
  return { drain_host_s: seconds.figure('s') }
}
