import { createHash } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { bakeHash } from '@offshoot/contract/agent-move'
import { movedFile, type MovedFile } from '@offshoot/contract/move-stream'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { allocatedBytes } from '../data-dir/disk-usage.ts'
import { isPresent } from '../ledger/is-present.ts'
import { readRecord } from '../ledger/read-record.ts'
import { bakeFiles } from './bake-files.ts'

/** In the folder of a bake whose files were hashed. */
const CONTENT = 'content.json'
/** The folder below `bakes/` with the bakes of other hosts, each named by its hash. No fingerprint is as long. */
export const IMPORTED = 'imported'
const PREFIX = 'bake/'
/** The files of a bake that move. Each host makes `overlay.qcow2` itself. */
export const MOVING = ['memory', 'state', 'volumes.state', 'rootfs.ext4', 'lower.qcow2', 'disk.qcow2', 'bake.json']

type Seal = Pick<MovedFile, 'bytes' | 'sha256'>

const bakeContent = z.strictObject({
  hash: bakeHash,
  /** The most bytes that the files occupy on a disk. */
  disk_bytes: z.int(),
  files: z.array(movedFile),
})
export type BakeContent = z.infer<typeof bakeContent>

/** The hashes of the bakes of other hosts. */
export async function listImported(bakes: string): Promise<string[]> {
  return readdir(join(bakes, IMPORTED)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

/** The name of the file of a bake in a stream. */
export function movedNameOf(file: string): string {
  return PREFIX + file
}

/** The file of a bake with this name in a stream; `null` for any other name. */
export function bakeFileOf(name: string): string | null {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null
}

/** @param file as the stream names it. @throws Error if it is none of a bake */
export function pathInBake(folder: string, { name }: Pick<MovedFile, 'name'>): string {
  const file = bakeFileOf(name)
  if (file === null) throw new Error(`${name} is no file of a bake`)
  return join(folder, file)
}

export function hashOfBake(files: readonly MovedFile[]): string {
  const parts = files.map(({ name, bytes, sha256 }) => [name, bytes, sha256])
  const sorted = parts.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex')
}

/** Knows bakes by their content. Reads each bake once; a bake never changes. */
export class BakeContents {
  readonly #bakes: string
  readonly #seal: (path: string) => Promise<Seal>
  readonly #describing = new Map<string, Promise<BakeContent>>()

  /** @param seal must not block the event loop: the files have gigabytes */
  constructor(bakes: string, seal: (path: string) => Promise<Seal>) {
    this.#bakes = bakes
    this.#seal = seal
  }

  /** @param bake `NAME/FINGERPRINT`. @throws Error if it is incomplete */
  describe(bake: string): Promise<BakeContent> {
    const known = this.#describing.get(bake)
    if (known !== undefined) return known
    const describing = this.#describe(join(this.#bakes, bake)).finally(() => this.#describing.delete(bake))
    this.#describing.set(bake, describing)
    return describing
  }

  /** The size of any file, and the hash of what is not zero in it. */
  async seal(path: string): Promise<Seal> {
    return this.#seal(path)
  }

  /** The hashes of the complete bakes that were described. */
  async hashes(): Promise<string[]> {
    const hashes: string[] = []
    for await (const { hash } of this.#known()) hashes.push(hash)
    return hashes
  }

  /** @returns `NAME/FINGERPRINT` of a bake with this content; `null`: there is none */
  async find(hash: string): Promise<string | null> {
    for await (const known of this.#known()) if (known.hash === hash) return known.bake
    return null
  }

  async *#known(): AsyncGenerator<{ readonly bake: string; readonly hash: string }> {
    for (const name of await readdir(this.#bakes)) {
      for (const fingerprint of await readdir(join(this.#bakes, name)).catch((): string[] => [])) {
        const folder = join(this.#bakes, name, fingerprint)
        const read = await readContent(folder)
        const isComplete = read.state === 'present' && (await isPresent(bakeFiles(folder).manifest))
        if (isComplete) yield { bake: `${name}/${fingerprint}`, hash: read.record.hash }
      }
    }
  }

  async #describe(folder: string): Promise<BakeContent> {
    const read = await readContent(folder)
    if (read.state === 'present') return read.record
    const files: MovedFile[] = []
    for (const name of MOVING) {
      const path = join(folder, name)
      if ((await lstat(path).catch(() => null)) === null) continue
      files.push({ name: movedNameOf(name), ...(await this.#seal(path)) })
    }
    const content = {
      hash: hashOfBake(files),
      disk_bytes: await allocatedBytes(files.map((file) => pathInBake(folder, file))),
      files,
    }
    await writeBakeContent(folder, content)
    return content
  }
}

export async function writeBakeContent(folder: string, content: BakeContent): Promise<void> {
  await writeFileDurably(join(folder, CONTENT), `${JSON.stringify(content)}\n`, 0o400)
}

function readContent(folder: string) {
  return readRecord(join(folder, CONTENT), (content) => bakeContent.parse(content))
}
