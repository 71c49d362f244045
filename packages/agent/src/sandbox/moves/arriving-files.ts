import { chmod, mkdir, open, type FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import type { AnyHeader, MovedFile, StreamHeader } from '@offshoot/contract/move-stream'
import { bakeFileOf } from '../../store/bakes/bake-content.ts'
import { type Checkpoint, type FileSeal, isSameSeal } from '../../store/checkpoints/checkpoint.ts'
import { newLayerId } from '../../store/disks/layer-id.ts'
import { MoveDamaged } from '../../store/moves/move-damaged.ts'
import type { MoveReceiver } from '../../store/moves/move-stream.ts'
import type { HostStore } from '../model/host.ts'
import type { Arrival } from '../model/arrivals.ts'
import { sha256Of, SMALL_FILES } from './moving-files.ts'

/** Bytes of data after which the agent looks at its disk again: the sender may have named too few. */
const LOOK_BYTES = 64 * 1024 ** 2
/** The folder of a sandbox's checkpoint in its own. */
export const HIBERNATION = 'hibernation'
export const BAKE = 'bake'
/** With what the names of the files of a template's disk begin. */
export const DISK = 'disk/'

/** Writes the files of a sandbox, snapshot or template that arrives. Every path is the agent's choice; the stream only has names of a closed list. */
export class ArrivingFiles {
  /** The files of the sandbox's folder that move as they are. */
  readonly small = new Map<string, Buffer>()
  readonly #store: Pick<HostStore, 'room' | 'layers'>
  readonly #arrival: Arrival
  readonly #folder: string
  readonly #memory: string
  #untilLook = LOOK_BYTES

  /**
   * @param folder exists, and is empty
   * @param memory the folder for the files of the checkpoint
   */
  constructor(
    store: Pick<HostStore, 'room' | 'layers'>,
    arrival: Arrival,
    folder: string,
    memory: string = join(folder, HIBERNATION),
  ) {
    this.#store = store
    this.#arrival = arrival
    this.#folder = folder
    this.#memory = memory
  }

  /** @throws ApiError 507 if the disk has no room for so much */
  async admit(bytes: number): Promise<void> {
    const { free_bytes: free, refuse_below_bytes: kept } = await this.#store.room.look()
    if (free - bytes < kept) throw new ApiError('sandboxStorage')
  }

  /** Makes folders and names of layers. */
  async prepare({ memory, layers, bake }: Pick<StreamHeader, 'memory' | 'layers' | 'bake'>): Promise<void> {
    // Other disks may have layers with the ids that these had.
    this.#arrival.layers.push(...Array.from({ length: layers }, () => newLayerId()))
    if (memory !== null) await mkdir(this.#memory, { recursive: true, mode: 0o700 })
    if (bake.is_included) await mkdir(join(this.#folder, BAKE), { mode: 0o711 })
  }

  async receive(file: MovedFile, read: Parameters<MoveReceiver<AnyHeader>['file']>[1]): Promise<void> {
    if (SMALL_FILES.some((name) => name === file.name)) return this.#keep(file, read)
    const path = this.pathOf(file.name)
    const handle = await open(path, 'wx', 0o400)
    try {
      await read(async (data, at) => {
        this.#arrival.cancelling.signal.throwIfAborted()
        await this.#look(data.length)
        await writeAll(handle, data, at)
      })
      await handle.truncate(file.bytes)
    } finally {
      await handle.close()
    }
    if (READABLE.has(file.name)) await chmod(path, 0o444)
  }

  async #keep({ name, bytes, sha256 }: MovedFile, read: Parameters<MoveReceiver<AnyHeader>['file']>[1]): Promise<void> {
    const content = Buffer.alloc(bytes)
    await read(async (data, at) => {
      data.copy(content, at)
    })
    if ((await sha256Of(content)) !== sha256) throw new MoveDamaged(`${name} is not what was sent`)
    this.small.set(name, content)
  }

  /** @throws ApiError 507 while the disk has too little room */
  async #look(bytes: number): Promise<void> {
    this.#untilLook -= bytes
    if (this.#untilLook > 0) return
    this.#untilLook = LOOK_BYTES
    await this.#store.room.admit('sandbox')
  }

  /** The path of a file that is not small. */
  pathOf(name: string): string {
    const ofBake = bakeFileOf(name)
    if (ofBake !== null) return join(this.#folder, BAKE, ofBake)
    if (name.startsWith(DISK)) return join(this.#folder, basename(name))
    if (name.startsWith('memory/')) return join(this.#memory, basename(name))
    const id = this.#arrival.layers[Number(basename(name))]
    if (id === undefined) throw new MoveDamaged(`unexpected file ${name}`)
    return this.#store.layers.path(id)
  }

  /** The layers of the disk on this host, with the seals that were sent. */
  sealedLayers({ files }: Pick<StreamHeader, 'files'>): Checkpoint['layers'] {
    return this.#arrival.layers.map((id, index) => ({ id, ...sealIn(files, `layers/${index}`) }))
  }

  /**
   * The checkpoint as it is on this host; `null` if the stream has no memory.
   * @param bake `NAME/FINGERPRINT`
   */
  checkpoint(
    { template, cpu, memory_mb }: Pick<Checkpoint, 'template' | 'cpu' | 'memory_mb'>,
    { memory, files }: Pick<StreamHeader, 'memory' | 'files'>,
    bake: string,
  ): Checkpoint | null {
    if (memory === null) return null
    const sealOf = (name: string) => sealIn(files, name)
    const { bases, ...origin } = memory
    const prefixes = [...Array.from({ length: bases }, (_, index) => `base-${index}.`), '']
    const layers = this.sealedLayers({ files })
    const seals = prefixes.map((prefix) => ({
      pages: sealOf(`memory/${prefix}pages`),
      runs: sealOf(`memory/${prefix}runs`),
    }))
    const state = sealOf('memory/state')
    const own = seals.reduce((sum, { pages, runs }) => sum + pages.bytes + runs.bytes, state.bytes)
    const bytes = own + (layers.at(-1)?.bytes ?? 0)
    return { ...origin, bake, template, cpu, memory_mb, bytes, layers, memory: seals, state }
  }
}

function sealIn(files: readonly MovedFile[], name: string): FileSeal {
  const file = files.find((each) => each.name === name)
  if (file === undefined) throw new MoveDamaged(`${name} is missing`)
  return { bytes: file.bytes, sha256: file.sha256 }
}

/** Compares a file on the disk with what the stream announced. @throws MoveDamaged */
export async function verifyArrived(
  { bakeContents }: Pick<HostStore, 'bakeContents'>,
  file: MovedFile,
  path: string,
): Promise<void> {
  if (!isSameSeal(await bakeContents.seal(path), file)) throw new MoveDamaged(`${file.name} is not what was sent`)
}

/** Files that the users of VMs open. */
const READABLE: ReadonlySet<string> = new Set([
  ...['memory', 'rootfs.ext4', 'lower.qcow2', 'disk.qcow2'].map((name) => `bake/${name}`),
  ...['rootfs.ext4', 'lower.qcow2'].map((name) => DISK + name),
])

async function writeAll(file: FileHandle, data: Buffer, at: number): Promise<void> {
  for (let done = 0; done < data.length;) {
    const { bytesWritten } = await file.write(data, done, data.length - done, at + done)
    done += bytesWritten
  }
}
