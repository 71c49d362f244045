import { spawn, type ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import type { Deadline } from '@offshoot/kit/deadline'
import type { GuestMemory } from './memory-map.ts'
import { PAGE_BYTES, type PageRun } from './page-runs.ts'

/** Milliseconds for the program to end. */
const END_MS = 5_000
const COUNT_BYTES = 4
const RUN_BYTES = 8
/** Of what the program complains of. */
const MAX_ERROR_CHARS = 1000

/**
 * Tells which pages of a guest's memory are written while it runs (native/track-writes.c). The program ends with us: its standard
 * input does.
 */
export class WriteTracker {
  readonly #child: ChildProcess
  readonly #input: Writable
  readonly #chunks: AsyncIterator<Buffer>
  #pending: Buffer = Buffer.alloc(0)
  /** Resolves when the program has ended, and all that it said is here. */
  readonly #ended: Promise<void>
  #errors = ''

  /** @param program native/track-writes.c, compiled */
  constructor(program: string, pid: number, { start, bytes }: GuestMemory) {
    const child = spawn(program, [pid, start, bytes / PAGE_BYTES].map(String), { stdio: 'pipe' })
    this.#child = child
    this.#input = child.stdin
    this.#chunks = child.stdout[Symbol.asyncIterator]()
    const ended = Promise.withResolvers<void>()
    this.#ended = ended.promise
    child.once('close', () => ended.resolve())
    child.once('error', () => ended.resolve())
    this.#input.on('error', () => undefined)
    child.stderr.on('data', (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(0, MAX_ERROR_CHARS)
    })
  }

  /**
   * What was written since this was asked before; the first time all pages that are the guest's own. In ascending order.
   * @throws Error where this host cannot tell, or the guest has ended
   */
  async written(deadline: Deadline): Promise<readonly PageRun[]> {
    this.#input.write('?')
    const count = (await this.#read(COUNT_BYTES, deadline)).readUInt32LE()
    const bytes = count === 0 ? Buffer.alloc(0) : await this.#read(count * RUN_BYTES, deadline)
    return Array.from({ length: count }, (_, index) => ({
      firstPage: bytes.readUInt32LE(index * RUN_BYTES),
      pages: bytes.readUInt32LE(index * RUN_BYTES + 4),
    }))
  }

  /** Nothing is watched any more when it resolves: the next to watch would lose its watch otherwise. */
  async close(): Promise<void> {
    this.#input.end()
    const timer = setTimeout(() => this.kill(), END_MS)
    await this.#ended
    clearTimeout(timer)
  }

  /** The guest stays watched, which costs it little, until the next who asks. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #read(length: number, deadline: Deadline): Promise<Buffer> {
    while (this.#pending.length < length) {
      const { value, done } = await deadline.race(this.#chunks.next())
      if (done === true) await deadline.race(this.#ended)
      if (done === true) throw new Error(`writes of a guest cannot be tracked: ${this.#errors.trim()}`)
      this.#pending = Buffer.concat([this.#pending, value])
    }
    const bytes = this.#pending.subarray(0, length)
    this.#pending = this.#pending.subarray(length)
    return bytes
  }
}
