import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Writable } from 'node:stream'
import { Deadline } from '@offshoot/kit/deadline'
import { expect } from 'vitest'
import { encodeRuns, PAGE_BYTES, type PageRun } from '../machine/capture/page-runs.ts'
import { copyShare, saveMemory, type SaveMemory } from '../machine/capture/save-memory.ts'
import { sharedPages } from '../machine/capture/shared-pages.ts'
import type { MemoryFiles } from '../store/checkpoints/checkpoint-files.ts'
import { runProgram } from '../machine/host/run-program.ts'
import { IMAGE_SOCKET } from '../machine/vm/machine.ts'

/** Pages that each process maps. */
export const PAGES = 1024
const PACKAGE = join(import.meta.dirname, '../..')

/** A process that maps memory as QEMU does, through the preload object. */
export class Mapper {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>
  #errors = ''

  constructor(child: ChildProcess) {
    this.#child = child
    if (child.stdout === null) throw new Error('no output')
    child.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()))
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async line(): Promise<string | undefined> {
    const { value, done } = await this.#lines.next()
    return done === true ? undefined : value
  }

  async ready(): Promise<this> {
    expect(await this.line()).toBe('ready')
    return this
  }

  async ask(question: string): Promise<number> {
    this.#child.stdin?.write(`${question}\n`)
    return Number(await this.line())
  }

  /** Sends a byte of device state over the process's state socket. */
  sendState(byte: string): void {
    const stdio: readonly unknown[] = this.#child.stdio
    ;(stdio[6] as Writable).write(byte)
  }

  /** Waits until the process has ended. @returns its signal and its error output */
  async ended(): Promise<{ signal: NodeJS.Signals | null; errors: string }> {
    if (this.#child.signalCode === null && this.#child.exitCode === null) await once(this.#child, 'close')
    return { signal: this.#child.signalCode, errors: this.#errors }
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended()
  }
}

export const run = (firstPage: number, pages: number): PageRun => ({ firstPage, pages })

/** Files of runs that are wrong, each with the number of pages in the file beside it. */
export const WRONG_RUNS: readonly (readonly [name: string, runs: Buffer, pages: number])[] = [
  ['two runs of the same page', encodeRuns([run(1, 2), run(2, 1)]), 3],
  ['a run past the end', encodeRuns([run(PAGES - 1, 2)]), 2],
  ['an empty run', encodeRuns([run(1, 0)]), 0],
  ['more pages than there are', encodeRuns([run(1, 2)]), 1],
  ['fewer pages than there are', encodeRuns([run(1, 2)]), 3],
  ['a torn list', encodeRuns([run(1, 1)]).subarray(0, 20), 1],
  ['another file', Buffer.alloc(24, 1), 1],
  ['an empty file', Buffer.alloc(0), 1],
]

/** Compiles the preload object and a test program, and manages the processes that run them. */
export class Mappers {
  readonly folder: string
  readonly #processes: Mapper[] = []
  #lastNumber = 0

  private constructor(folder: string) {
    this.folder = folder
  }

  static async open(): Promise<Mappers> {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-memory-'))
    const deadline = Deadline.after(60_000, 'compilation')
    const sources = ['guest-memory.c', 'kept-memory.c', 'memory-image.c'].map((name) => join(PACKAGE, 'native', name))
    const preload = ['-shared', '-fPIC', ...sources, '-o', join(folder, 'guest-memory.so')]
    await runProgram('cc', ['-O1', '-Wall', '-Wextra', '-Werror', ...preload], deadline)
    await runProgram('cc', ['-O1', join(PACKAGE, 'src/test/map-memory.c'), '-o', join(folder, 'map-memory')], deadline)
    await writeFile(join(folder, 'memory'), Buffer.alloc(PAGES * PAGE_BYTES, 7), { mode: 0o444 })
    return new Mappers(folder)
  }

  /**
   * @param overlay the layers over its memory file, the lowest first
   * @param isAhead starts the process before its pages exist, with a socket for its device state
   * @param images the working directory, in which the process writes images of itself
   */
  async start(
    overlay: MemoryFiles | readonly MemoryFiles[] = [],
    { bytes = PAGES * PAGE_BYTES, isAhead = false, images = '' } = {},
  ): Promise<Mapper> {
    const layers = [overlay].flat()
    const paths = [join(this.folder, 'memory'), ...layers.flatMap(({ pages, runs }) => [pages, runs])]
    const files = await Promise.all(paths.map((path) => open(path, 'r')))
    const child = spawn(join(this.folder, 'map-memory'), [String(bytes)], {
      cwd: images === '' ? this.folder : images,
      stdio: ['pipe', 'pipe', 'pipe', ...files.map(({ fd }) => fd), ...(isAhead ? ['pipe' as const] : [])],
      env: {
        LD_PRELOAD: join(this.folder, 'guest-memory.so'),
        GUEST_MEMORY_PATH: '/dev/null/guest-memory',
        GUEST_MEMORY_FD: '3',
        ...(layers.length > 0 ? { GUEST_LAYERS_FD: '4', GUEST_LAYERS: String(layers.length) } : {}),
        ...(isAhead ? { GUEST_STATE_FD: '6' } : {}),
        ...(images === '' ? {} : { GUEST_IMAGE_SOCKET: IMAGE_SOCKET, GUEST_IMAGE_OF: 'map-memory' }),
      },
    })
    const mapper = new Mapper(child)
    this.#processes.push(mapper)
    await once(child, 'spawn')
    for (const file of files) await file.close()
    return mapper
  }

  newFiles() {
    const name = join(this.folder, `saved-${++this.#lastNumber}`)
    return { pages: `${name}.pages`, runs: `${name}.runs` }
  }

  get #place() {
    return { bakeMemory: join(this.folder, 'memory'), memoryBytes: PAGES * PAGE_BYTES }
  }

  /** Saves the pages that a process does not share with the bake. */
  save({ pid }: { readonly pid: number }, files = this.newFiles(), bases: SaveMemory['bases'] = []) {
    const { start: _start, ...counted } = saveMemory({ pid, ...this.#place, ...files, maxPages: PAGES, bases })
    return { files, counted }
  }

  /** As {@link save}, by several threads. @param order of the shares */
  saveShared({ pid }: { readonly pid: number }, order: readonly number[]) {
    const files = this.newFiles()
    const { start, ...counted } = saveMemory({ pid, ...this.#place, ...files, maxPages: 0, bases: [] })
    if (start === null) throw new Error('there is nothing to share')
    for (const index of order) copyShare({ pid, ...files, start, share: { index, of: order.length } })
    return { files, counted }
  }

  /** Of pages that were saved from an image of a process: which it has not written since. */
  sharedSince({ pid }: { readonly pid: number }, image: { readonly pid: number }, { runs }: MemoryFiles): Uint8Array {
    return sharedPages({ pid, image: image.pid, ...this.#place, runs, bases: [] })
  }

  /** What a process has of its own that is not in the bases, and all that it is to be restored from. */
  saveOver(process: { readonly pid: number }, bases: readonly MemoryFiles[]) {
    const { files, counted } = this.save(process, this.newFiles(), bases)
    return { counted, layers: [...bases.slice(0, counted.bases), files] }
  }

  async end(): Promise<void> {
    for (const mapper of this.#processes.splice(0)) await mapper.kill()
  }

  async close(): Promise<void> {
    await this.end()
    await rm(this.folder, { recursive: true, force: true })
  }
}
