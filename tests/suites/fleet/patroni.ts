import { chown, mkdir, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { readdir, readlink } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { canMountDisk, SmallDisk } from '@offshoot/agent/test/small-disk'
import pg from 'pg'
import { until } from '../../setup/until.ts'
import { Balancer, type Target } from './balancer.ts'
import type { Fleet } from './fleet.ts'
import { diskFaults, type Fault, type Member, networkFaults } from './member.ts'
import type { Machine } from './network.ts'
import type { DatabaseAddress, DatabaseService } from './postgres-server.ts'
import { killAll, Program } from './program.ts'

const PATRONI = '/usr/bin/patroni'
const ETCD = '/usr/bin/etcd'
const BINARIES = '/usr/lib/postgresql/15/bin'
/** Of the balancer before the servers. */
const PORT = 5432
const REST_PORT = 8008
const NODES = 2
const ANSWER_MS = 2_000
/** Milliseconds for a primary to be there. */
const PRIMARY_MS = 90_000

/** Debian's Patroni with Debian's PostgreSQL and etcd. */
export const hasPatroni = [PATRONI, ETCD, join(BINARIES, 'postgres')].every((path) => existsSync(path))

/** Two servers of PostgreSQL, of which Patroni makes one the primary. Each commit waits for both, if both are there. */
export class PatroniCluster implements DatabaseService {
  readonly address: DatabaseAddress
  readonly #nodes: PatroniNode[] = []
  readonly #etcd: Program
  #balancer: Balancer | undefined

  private constructor(address: DatabaseAddress, etcd: Program) {
    this.address = address
    this.#etcd = etcd
  }

  static async start(fleet: Fleet, folder: string, diskBytes: number | null): Promise<PatroniCluster> {
    await mkdir(folder, { recursive: true, mode: 0o711 })
    const user = await userOf('postgres')
    const password = randomBytes(16).toString('hex')
    const { address } = fleet.network
    const machine = await fleet.machine()
    const url = `http://${machine.address}:2379`
    const line = [ETCD, '--data-dir', join(folder, 'etcd'), '--listen-client-urls', url, '--advertise-client-urls', url]
    const etcd = new Program({ machine, line, log: join(folder, 'etcd.log') })
    etcd.start()
    const database = { host: address, port: PORT, user: 'offshoot', password, database: 'offshoot' }
    const cluster = new PatroniCluster(database, etcd)
    for (let number = 1; number <= NODES; number++) {
      const options = { number, user, password, etcd: `${machine.address}:2379`, diskBytes }
      cluster.#nodes.push(await PatroniNode.start(await fleet.machine(), join(folder, `node-${number}`), options))
    }
    const targets = cluster.#nodes.map((node) => ({ host: node.machine.address, port: PORT }))
    const listen = { host: address, port: PORT }
    cluster.#balancer = await Balancer.start({ listen, targets, isHealthy: isPrimary })
    await cluster.ensureRunning()
    await cluster.#makeDatabase()
    return cluster
  }

  get members(): readonly Member[] {
    return this.#nodes
  }

  /** Waits until there is a primary, and a standby that follows it. */
  async ensureRunning(): Promise<void> {
    if (!this.#etcd.isRunning) this.#etcd.start()
    for (const node of this.#nodes) await node.ensureRunning()
    await until('a primary and a standby', () => this.#isWhole(), PRIMARY_MS, 250)
  }

  async destroy(): Promise<void> {
    await this.#balancer?.stop()
    for (const node of this.#nodes) await node.destroy()
    await this.#etcd.end()
  }

  async #isWhole(): Promise<boolean> {
    const [primary] = this.#balancer?.healthy ?? []
    if (primary === undefined || this.#balancer?.healthy.length !== 1) return false
    const others = this.#nodes.filter((node) => node.machine.address !== primary.host)
    const answers = await Promise.all(
      others.map(({ machine }) => isAnswering({ host: machine.address, port: PORT }, 'synchronous')),
    )
    return answers.every(Boolean)
  }

  async #makeDatabase(): Promise<void> {
    const { host, port, user, password, database } = this.address
    const client = new pg.Client({ host, port, user: 'postgres', password, database: 'postgres' })
    await client.connect()
    await client.query(`create role ${user} login password '${password}'`)
    await client.query(`create database ${database} owner ${user}`)
    await client.end()
  }
}

interface NodeOptions {
  readonly number: number
  readonly user: number
  readonly password: string
  readonly etcd: string
  readonly diskBytes: number | null
}

class PatroniNode implements Member {
  readonly name: string
  readonly machine: Machine
  readonly faults: readonly Fault[]
  readonly #program: Program
  readonly #folder: string
  readonly #disk: SmallDisk | null

  private constructor(machine: Machine, folder: string, name: string, program: Program, disk: SmallDisk | null) {
    this.machine = machine
    this.name = name
    this.#folder = folder
    this.#program = program
    this.#disk = disk
    const kill: Fault = { name: 'kill -9', begin: () => this.#kill(), heal: async () => this.ensureRunning() }
    this.faults = [kill, ...networkFaults(machine), ...(disk === null ? [] : diskFaults(disk, join(folder, 'data')))]
  }

  static async start(machine: Machine, folder: string, options: NodeOptions): Promise<PatroniNode> {
    const { number, user, diskBytes } = options
    const data = join(folder, 'data')
    await mkdir(data, { recursive: true, mode: 0o755 })
    const disk = diskBytes !== null && canMountDisk ? await SmallDisk.mount(data, diskBytes) : null
    const path = join(folder, 'patroni.json')
    // JSON is YAML.
    await writeFile(path, JSON.stringify(configuration(machine, data, options)))
    for (const each of [folder, data, path]) await chown(each, user, user)
    const prefix = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--']
    const program = new Program({ machine, line: [...prefix, PATRONI, path], log: join(folder, 'patroni.log') })
    program.start()
    return new PatroniNode(machine, folder, `PostgreSQL ${number}`, program, disk)
  }

  async ensureRunning(): Promise<void> {
    if (!this.#program.isRunning) this.#program.start()
  }

  async destroy(): Promise<void> {
    await this.#kill()
    await this.#disk?.unmount()
  }

  /** Patroni, and the server that it has started. */
  async #kill(): Promise<void> {
    await this.#program.end()
    await killAll(this.name, () => processesIn(join(this.#folder, 'data')))
  }
}

function configuration({ address }: Machine, data: string, { number, password, etcd }: NodeOptions) {
  const authentication = { username: 'postgres', password }
  return {
    scope: 'offshoot',
    name: `node-${number}`,
    restapi: { listen: `${address}:${REST_PORT}`, connect_address: `${address}:${REST_PORT}` },
    etcd3: { hosts: etcd },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 2,
        retry_timeout: 5,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 200, wal_log_hints: 'on' } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
    },
    postgresql: {
      listen: `${address}:${PORT}`,
      connect_address: `${address}:${PORT}`,
      bin_dir: BINARIES,
      data_dir: join(data, 'cluster'),
      pgpass: join(data, 'pgpass'),
      authentication: { superuser: authentication, replication: authentication, rewind: authentication },
      parameters: { unix_socket_directories: data, shared_buffers: '64MB' },
      pg_hba: ['local all all trust', 'host all all all scram-sha-256', 'host replication all all scram-sha-256'],
    },
  }
}

function isPrimary(target: Target): Promise<boolean> {
  return isAnswering(target, 'primary')
}

/** Asks Patroni what its server is. */
async function isAnswering({ host }: Target, role: 'primary' | 'synchronous'): Promise<boolean> {
  const signal = AbortSignal.timeout(ANSWER_MS)
  const answer = await fetch(`http://${host}:${REST_PORT}/${role}`, { signal }).catch(() => null)
  await answer?.body?.cancel()
  return answer?.status === 200
}

async function userOf(name: string): Promise<number> {
  return Number((await promisify(execFile)('id', ['-u', name])).stdout)
}

async function processesIn(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
      return cwd.startsWith(`${folder}/`) ? [Number(pid)] : []
    }),
  )
  return found.flat()
}
