import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { isPresent } from '../ledger/is-present.ts'
import type { LayerId } from '../disks/layer-id.ts'
import type { Layers } from '../disks/layers.ts'
import { CheckpointDamaged, CheckpointIncompatible } from './checkpoint-errors.ts'
import { checkpointFiles, memoryFiles, type MemoryFiles } from './checkpoint-files.ts'
import {
  type Checkpoint,
  type CheckpointOrigin,
  type FileSeal,
  formatCheckpoint,
  type MemorySeal,
  parseCheckpoint,
  isSameSeal,
} from './checkpoint.ts'
import { type Base, MemoryBases, sealedMemory } from './memory-bases.ts'
import { restorePages } from './compressed-memory.ts'
import type { SigningKeys } from './signing-key.ts'
import type { VerifiedFiles } from './verified-files.ts'

const signed = z.object({ checkpoint: z.unknown(), hmac: z.string() })

export interface CheckpointsOptions<Machine> {
  /** The agent's data directory. A signature is valid only at the folder's path below it. */
  readonly root: string
  readonly keys: SigningKeys
  readonly layers: Layers
  readonly files: VerifiedFiles
  readonly machines: CheckpointMachines<Machine>
}

/** Tells which checkpoints a machine can restore. */
export interface CheckpointMachines<Machine> {
  /** The fields of a checkpoint that describe the machine of its capture and the version of its QEMU. */
  describe(machine: Machine, qemuVersion: string): Promise<Pick<Checkpoint, 'machine' | 'tsc_khz'>>
  /** The version of a QEMU of this host that can restore it on this machine; `null`: none can. */
  findQemu(content: Pick<Checkpoint, 'machine' | 'tsc_khz'>, machine: Machine): Promise<string | null>
}

/** The machine that this host would give to a checkpoint's guest. */
export type MachineOf<Machine> = (size: Pick<Checkpoint, 'cpu' | 'memory_mb'>) => Machine

/** The files of a finished capture, which are to be sealed. */
export interface Unsealed {
  readonly folder: string
  /** The layers of the disk at that instant, the lowest first. */
  readonly layers: readonly LayerId[]
  /** The version of the captured QEMU. */
  readonly qemuVersion: string
  /** The number of bases of its memory, whose files are in the folder. */
  readonly bases: number
}

/** A checkpoint that this host can restore. */
export interface RestorableCheckpoint extends Checkpoint {
  /** The version of the QEMU that must restore it. */
  readonly qemuVersion: string
}

/**
 * Signs and verifies checkpoints.
 *
 *     captured ──seal──► sealed ──remove──► removed
 *
 * A folder without `checkpoint.json` is no checkpoint. A sealed file never changes. Before a restore, {@link open} verifies
 * every byte, once per agent process unless a file has changed since.
 */
export class Checkpoints<Machine> {
  readonly #options: CheckpointsOptions<Machine>
  readonly #files: VerifiedFiles
  readonly bases: MemoryBases

  constructor(options: CheckpointsOptions<Machine>) {
    this.#options = options
    this.#files = options.files
    this.bases = new MemoryBases(this.#files, (folder, signedFor) => this.read(folder, signedFor))
  }

  /**
   * Makes a capture a checkpoint, which is on the disk when this resolves. Children may be restored from it before.
   * @param known bases that a signed checkpoint has verified: they are not read again
   * @throws an error of the file system, with its `code`; the folder is then no checkpoint and can be removed
   */
  async seal(
    { folder, layers, bases, qemuVersion }: Unsealed,
    origin: CheckpointOrigin,
    machine: Machine,
    deadline: Deadline,
    known: readonly Base[] = [],
  ): Promise<Checkpoint> {
    const files = checkpointFiles(folder)
    const { layers: disk, machines } = this.#options
    // All at once, so that the reading thread need not wait between two files.
    const sealOf = (path: string) => this.#files.seal(path, deadline)
    const sealMemory = async ({ pages, runs }: MemoryFiles): Promise<MemorySeal> => {
      const [first, second] = await Promise.all([sealOf(pages), sealOf(runs)])
      return { pages: first, runs: second }
    }
    const sealLayer = async (id: LayerId) => ({ id, ...(await sealOf(disk.path(id))) })
    const [state, sealedMemory, sealedLayers] = await Promise.all([
      sealOf(files.state),
      Promise.all(memoryFiles(folder, bases).slice(known.length).map(sealMemory)),
      Promise.all(layers.map(sealLayer)),
      disk.sync(),
    ])
    const memory = [...known.map(({ seal }) => seal), ...sealedMemory]
    const ownLayer = sealedLayers.at(-1)?.bytes ?? 0
    const content: Checkpoint = {
      ...origin,
      ...(await machines.describe(machine, qemuVersion)),
      bytes: memory.reduce((sum, { pages, runs }) => sum + pages.bytes + runs.bytes, 0) + state.bytes + ownLayer,
      layers: sealedLayers,
      memory,
      state,
    }
    await this.#write(folder, folder, content)
    return content
  }

  /**
   * Signs a checkpoint of another host. Verifies and syncs every file before.
   * @param folder with its files
   * @param signedFor the folder in which it will be a checkpoint
   * @throws CheckpointDamaged naming the file
   */
  async accept(folder: string, signedFor: string, content: Checkpoint, deadline: Deadline): Promise<void> {
    const files = checkpointFiles(folder)
    const sealed: (readonly [path: string, seal: FileSeal])[] = [
      ...sealedMemory(folder, content).flatMap(({ files: { pages, runs }, seal }) => [
        [pages, seal.pages] as const,
        [runs, seal.runs] as const,
      ]),
      [files.state, content.state],
      ...content.layers.map(({ id, ...seal }) => [this.#options.layers.path(id), seal] as const),
    ]
    for (const [path, seal] of sealed) await this.#accept(path, seal, deadline)
    await this.#write(folder, signedFor, content)
  }

  /** Verifies and syncs the layers of a disk that another host has sent without memory. @throws CheckpointDamaged */
  async acceptLayers(layers: Checkpoint['layers'], deadline: Deadline): Promise<void> {
    for (const { id, ...seal } of layers) await this.#accept(this.#options.layers.path(id), seal, deadline)
  }

  async #accept(path: string, seal: FileSeal, deadline: Deadline): Promise<void> {
    if (isSameSeal(await this.#files.seal(path, deadline), seal)) return
    throw new CheckpointDamaged(`${basename(path)} is not what was sent`)
  }

  /** The last step: from here on, the folder is a checkpoint. */
  async #write(folder: string, signedFor: string, content: Checkpoint): Promise<void> {
    const stored = formatCheckpoint(content)
    const text = JSON.stringify({ checkpoint: stored, hmac: this.#sign(signedFor, stored) })
    await writeFileDurably(checkpointFiles(folder).manifest, `${text}\n`, 0o400)
  }

  /**
   * Reads a checkpoint's record. Verifies its signature but not its files. Enough for lists.
   * @param signedFor the folder in which it was sealed
   * @throws CheckpointDamaged
   */
  async read(folder: string, signedFor = folder): Promise<Checkpoint> {
    const text = await readFile(checkpointFiles(folder).manifest, 'utf8').catch((error: unknown) => {
      throw new CheckpointDamaged('there is no complete checkpoint', { cause: error })
    })
    try {
      const { checkpoint: content, hmac } = signed.parse(JSON.parse(text))
      const isSigned = this.#options.keys.accepted.some((key) => isEqual(hmac, this.#sign(signedFor, content, key)))
      if (!isSigned) throw new Error('signature does not match')
      return parseCheckpoint(content)
    } catch (error) {
      throw new CheckpointDamaged('checkpoint.json was changed on disk', { cause: error })
    }
  }

  /** The version of a QEMU of this host that can restore a checkpoint; `null`: there is none. @throws CheckpointDamaged */
  async findQemu(folder: string, machineOf: MachineOf<Machine>): Promise<string | null> {
    const content = await this.read(folder)
    return this.#options.machines.findQemu(content, machineOf(content))
  }

  /**
   * Verifies every file of a checkpoint before its restore. Decompresses its memory first if necessary.
   * @throws CheckpointDamaged if a file is missing or was changed; CheckpointIncompatible
   */
  async open(folder: string, machineOf: MachineOf<Machine>, deadline: Deadline): Promise<RestorableCheckpoint> {
    const content = await this.read(folder)
    const { machines } = this.#options
    const qemuVersion = await machines.findQemu(content, machineOf(content))
    if (qemuVersion === null) {
      throw new CheckpointIncompatible(
        'made with another version of QEMU, or for another machine or CPU than this host',
      )
    }
    for (const { files, seal } of sealedMemory(folder, content)) {
      const { pages, runs } = files
      await restorePages(pages)
      await this.#check(basename(pages), pages, seal.pages, deadline)
      await this.#check(basename(runs), runs, seal.runs, deadline)
    }
    await this.#check('state', checkpointFiles(folder).state, content.state, deadline)
    await this.checkLayers(content.layers, deadline)
    return { ...content, qemuVersion }
  }

  /** Verifies a disk that has no checkpoint. @throws CheckpointDamaged naming the layer */
  async checkLayers(layers: Checkpoint['layers'], deadline: Deadline): Promise<void> {
    for (const layer of layers) {
      await this.#check(`layer ${layer.id}`, this.#options.layers.path(layer.id), layer, deadline)
    }
  }

  /**
   * Verifies the disk of a checkpoint that {@link open} refused, which may be booted without the memory. If
   * `checkpoint.json` is damaged, no seals of the layers are known, so it only checks that they exist.
   * @param ids the layers, as the checkpoint's owner knows them
   * @throws CheckpointDamaged naming the layer
   */
  async checkDisk(folder: string, ids: readonly LayerId[], deadline: Deadline): Promise<void> {
    const content = await this.read(folder).catch((error: unknown) => {
      if (error instanceof CheckpointDamaged) return null
      throw error
    })
    for (const id of ids) {
      const path = this.#options.layers.path(id)
      const seal = content?.layers.find((layer) => layer.id === id)
      if (seal !== undefined) await this.#check(`layer ${id}`, path, seal, deadline)
      else if (!(await isPresent(path))) throw new CheckpointDamaged(`layer ${id} is missing`)
    }
  }

  async #check(name: string, path: string, seal: FileSeal, deadline: Deadline): Promise<void> {
    const isWhole = await this.#files.isUnchanged(path, seal, deadline).catch((error: NodeJS.ErrnoException) => {
      // The disk has lost a part of the file. Any other error may be temporary, for example too many open files.
      if (error.code === 'EIO') return false
      throw error
    })
    if (!isWhole) throw new CheckpointDamaged(`${name} was changed on disk or is missing`)
  }

  /** Hard-links the files into a new folder, for a second checkpoint. Possible because they never change. */
  async link(from: string, { memory }: Checkpoint, to: string): Promise<void> {
    await mkdir(to, { recursive: true, mode: 0o700 })
    const files = [
      ...memoryFiles(from, memory.length - 1).flatMap(({ pages, runs }) => [pages, runs]),
      checkpointFiles(from).state,
    ]
    for (const path of files) await this.#files.link(path, join(to, basename(path)))
  }

  /** Removes one file of a checkpoint. Keeps the hash for its other links. */
  async unlink(path: string): Promise<void> {
    await this.#files.unlink(path)
  }

  /** Removes the manifest first, so that an interrupted removal leaves no checkpoint. The next sweep removes its layers. */
  async remove(folder: string): Promise<void> {
    await rm(checkpointFiles(folder).manifest, { force: true })
    await this.#files.removeTree(folder)
  }

  #sign(folder: string, content: unknown, key: Uint8Array = this.#options.keys.current): string {
    const { root } = this.#options
    const hmac = createHmac('sha256', key).update(relative(root, join(folder, '.')))
    return hmac.update('\0').update(JSON.stringify(content)).digest('hex')
  }
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
