import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { randomBytes } from 'node:crypto'
import { canMountDisk, SmallDisk } from '@offshoot/agent/test/small-disk'
import { until } from '../../setup/until.ts'
import { Balancer } from './balancer.ts'
import type { Fleet } from './fleet.ts'
import { type Companion, diskFaults, type Fault, networkFaults, processFaults } from './member.ts'
import { Program } from './program.ts'
import { allSandboxes } from './sandbox-client.ts'

/** A crate with a server that keeps objects in files, and verifies signatures. */
const CRATE = ['s3s-fs', '--version', '0.14.1', '--locked', '--features', 'binary', '--profile', 'dev']
const PORT = 4568
const BUCKET = 'copies'
const OTHER = 'another'
const ACCESS_KEY = 'fleet'
const LATE_MS = 2_000
const COPY_AFTER_SECONDS = 2
/** Milliseconds for the backlog after a fault. */
const COPIED_MS = 180_000
const programs = resolve(import.meta.dirname, '../../../.offshoot/fleet-programs')

/** Cargo builds the S3 server, in some minutes. */
export const canBuildObjectServer = (process.env['PATH'] ?? '')
  .split(':')
  .some((folder) => existsSync(join(folder, 'cargo')))

/** Builds it once. @returns its program */
async function installed(): Promise<string> {
  const program = join(programs, 'bin/s3s-fs')
  if (!existsSync(program)) await promisify(execFile)('cargo', ['install', ...CRATE, '--root', programs])
  return program
}

/** A program of others that speaks S3 with signatures, and keeps its objects in files. */
export class ObjectServer implements Companion {
  readonly name = 'S3'
  readonly settings: object
  readonly faults: readonly Fault[]
  readonly #program: Program
  readonly #disk: SmallDisk | null
  readonly #front: Balancer
  readonly #folder: string

  readonly #fleet: Fleet

  private constructor(
    fleet: Fleet,
    folder: string,
    program: Program,
    front: Balancer,
    settings: object,
    rest: Fault[],
    disk: SmallDisk | null,
  ) {
    this.#fleet = fleet
    this.#folder = folder
    this.#program = program
    this.#front = front
    this.#disk = disk
    this.settings = settings
    const bucket = join(folder, BUCKET)
    const slow: Fault = {
      name: 'slow',
      begin: async () => (front.delayMs = LATE_MS),
      heal: async () => (front.delayMs = 0),
    }
    const other = join(folder, OTHER)
    const wrongBucket: Fault = {
      name: 'without the bucket',
      begin: async () => {
        // A server that is receiving an object makes the folder of the bucket again.
        await program.end()
        await rename(bucket, other)
        program.start()
      },
      heal: async () => {
        await program.end()
        // The server makes the folder, too, when an upload in parts is completed.
        if (existsSync(bucket)) await cp(bucket, other, { recursive: true })
        await rm(bucket, { recursive: true, force: true })
        await rename(other, bucket)
        program.start()
      },
    }
    const damaged: Fault = { name: 'damaged objects', begin: () => this.#flip(), heal: () => this.#flip() }
    this.faults = [...rest, slow, wrongBucket, damaged]
  }

  static async start(fleet: Fleet, diskBytes: number | null): Promise<ObjectServer> {
    const file = await installed()
    const machine = await fleet.machine()
    const folder = join(fleet.folder, 'objects')
    await mkdir(folder, { recursive: true })
    const disk = diskBytes !== null && canMountDisk ? await SmallDisk.mount(folder, diskBytes) : null
    await mkdir(join(folder, BUCKET))
    const secretKey = randomBytes(16).toString('hex')
    const account = ['--access-key', ACCESS_KEY, '--secret-key', secretKey]
    const line = [file, '--host', machine.address, '--port', String(PORT), ...account, folder]
    const program = new Program({ machine, line, log: `${folder}.log` })
    program.start()
    const listen = { host: fleet.network.address, port: PORT }
    const front = await Balancer.start({ listen, targets: [{ host: machine.address, port: PORT }] })
    const endpoint = `http://${listen.host}:${PORT}`
    const s3 = { endpoint, bucket: BUCKET, access_key_id: ACCESS_KEY, secret_access_key: secretKey }
    const objects = { store: { s3 }, key: randomBytes(32).toString('base64') }
    const rest = [
      ...processFaults(program),
      ...networkFaults(machine),
      ...(disk === null ? [] : diskFaults(disk, folder)),
    ]
    return new ObjectServer(
      fleet,
      folder,
      program,
      front,
      { objects, copy_after_seconds: COPY_AFTER_SECONDS },
      rest,
      disk,
    )
  }

  /** What could not be uploaded during a fault is uploaded afterwards. */
  async examine(): Promise<void> {
    await until('a copy of each sandbox that sleeps', () => this.#hasAllCopies(), COPIED_MS, 500)
  }

  async #hasAllCopies(): Promise<boolean> {
    const rows = await allSandboxes(this.#fleet)
    const asleep = rows.filter(({ status, volumes, managed_by: by }) => {
      return status === 'hibernated' && volumes.length === 0 && by === null
    })
    const { text } = await this.#fleet.ask('GET', '/metrics')
    const [, stored = '0'] = /^offshoot_sandbox_copies\{status="stored"\} (\d+)$/m.exec(text) ?? []
    return Number(stored) >= asleep.length
  }

  async ensureRunning(): Promise<void> {
    if (!this.#program.isRunning) this.#program.start()
  }

  async destroy(): Promise<void> {
    await this.#program.end()
    await this.#front.stop()
    await this.#disk?.unmount()
  }

  readonly #flipped = new Set<string>()

  /** Changes a byte of each object, and later changes it back. Objects of this fault's time stay as they are. */
  async #flip(): Promise<void> {
    const names = this.#flipped.size > 0 ? [...this.#flipped] : await contentsIn(join(this.#folder, BUCKET))
    const isBack = this.#flipped.size > 0
    this.#flipped.clear()
    for (const path of names) {
      const content = await readFile(path).catch(() => null)
      const last = content?.at(-1)
      if (content === null || last === undefined) continue
      content[content.length - 1] = last ^ 1
      await writeFile(path, content)
      if (!isBack) this.#flipped.add(path)
    }
  }
}

/** Files with the content of objects. */
async function contentsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  const paths = names.filter((name) => !basename(name).startsWith('.')).map((name) => join(folder, name))
  const files = await Promise.all(paths.map(async (path) => ((await stat(path)).isFile() ? [path] : [])))
  return files.flat()
}
