import { appendFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { canMountDisk, SmallDisk } from '@offshoot/agent/test/small-disk'
import { dataLayout, type DataLayout, makeDataDir } from '@offshoot/up/base/data-layout'
import { DATABASE, ensureCluster, POSTGRES_UID } from '@offshoot/up/services/postgres-cluster'
import { postgresPrograms } from '@offshoot/up/services/postgres-install'
import { asUnprivileged } from '@offshoot/up/services/unprivileged'
import { diskFaults, type Fault, type Member, networkFaults, processFaults } from './member.ts'
import type { Machine } from './network.ts'
import { Program } from './program.ts'

/** Where control keeps its rows. */
export interface DatabaseService {
  /** For control's configuration. */
  readonly address: DatabaseAddress
  readonly members: readonly Member[]
  ensureRunning(): Promise<void>
  destroy(): Promise<void>
}

export interface DatabaseAddress {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

const PORT = 5432

export interface PostgresOptions {
  readonly machine: Machine
  /** An absent folder. */
  readonly folder: string
  readonly diskBytes: number | null
}

/** One server of the project's own PostgreSQL. */
export class PostgresServer implements DatabaseService, Member {
  readonly name = 'PostgreSQL'
  readonly address: DatabaseAddress
  readonly faults: readonly Fault[]
  readonly #program: Program
  readonly #disk: SmallDisk | null

  private constructor(address: DatabaseAddress, program: Program, faults: readonly Fault[], disk: SmallDisk | null) {
    this.address = address
    this.#program = program
    this.#disk = disk
    this.faults = faults
  }

  static async start({ machine, folder, diskBytes }: PostgresOptions): Promise<PostgresServer> {
    const layout: DataLayout = dataLayout(join(folder, 'data'), '/')
    await mkdir(layout.dir, { recursive: true, mode: 0o711 })
    const disk = diskBytes !== null && canMountDisk ? await SmallDisk.mount(layout.dir, diskBytes) : null
    await makeDataDir(layout)
    const programs = await postgresPrograms()
    const password = await ensureCluster(layout, programs, new AbortController().signal)
    await appendFile(join(layout.postgres, 'pg_hba.conf'), 'host all all samenet scram-sha-256\n')
    const server = [join(programs, 'postgres'), '-D', layout.postgres, '-p', String(PORT), '-c', 'listen_addresses=*']
    const prefix = await asUnprivileged(POSTGRES_UID, [programs, layout.postgres])
    const program = new Program({ machine, line: [...prefix, ...server], log: join(folder, 'postgres.log') })
    program.start()
    const faults = [
      ...processFaults(program),
      ...networkFaults(machine),
      ...(disk === null ? [] : diskFaults(disk, layout.dir)),
    ]
    return new PostgresServer({ host: machine.address, port: PORT, password, ...DATABASE }, program, faults, disk)
  }

  get members(): readonly Member[] {
    return [this]
  }

  async ensureRunning(): Promise<void> {
    if (!this.#program.isRunning) this.#program.start()
  }

  async destroy(): Promise<void> {
    await this.#program.end('SIGINT')
    await this.#disk?.unmount()
  }
}
