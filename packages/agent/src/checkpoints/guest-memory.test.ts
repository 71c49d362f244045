import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Writable } from 'node:stream'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runProgram } from '../host/run-program.ts'
import { encodeRuns, PAGE_BYTES, type PageRun } from './page-runs.ts'
import { saveMemory } from './save-memory.ts'

const PAGES = 1024
const PACKAGE = join(import.meta.dirname, '../..')

let folder: string
let lastNumber = 0
const processes: Mapper[] = []

/** A process that maps memory as QEMU does, through the preload object. */
class Mapper {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>
  #errors = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    if (child.stdout === null) throw new Error('no output')
    child.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()))
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  /** @param isAhead before its pages are there: it gets a socket for its state */
  static async start(
    overlay?: { readonly pages: string; readonly runs: string },
    { bytes = PAGES * PAGE_BYTES, isAhead = false } = {},
  ) {
    const paths = [join(folder, 'memory'), ...(overlay ? [overlay.pages, overlay.runs] : [])]
    const files = await Promise.all(paths.map((path) => open(path, 'r')))
    const child = spawn(join(folder, 'map-memory'), [String(bytes)], {
      stdio: ['pipe', 'pipe', 'pipe', ...files.map(({ fd }) => fd), ...(isAhead ? ['pipe' as const] : [])],
      env: {
        LD_PRELOAD: join(folder, 'guest-memory.so'),
        GUEST_MEMORY_PATH: '/dev/null/guest-memory',
        GUEST_MEMORY_FD: '3',
        ...(overlay ? { GUEST_PAGES_FD: '4', GUEST_RUNS_FD: '5' } : {}),
        ...(isAhead ? { GUEST_STATE_FD: '6' } : {}),
      },
    })
    const mapper = new Mapper(child)
    processes.push(mapper)
    await once(child, 'spawn')
    for (const file of files) await file.close()
    return mapper
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

  /** What comes over its state's socket. */
  sendState(byte: string): void {
    const stdio: readonly unknown[] = this.#child.stdio
    ;(stdio[6] as Writable).write(byte)
  }

  /** Why it ended by itself. */
  async ended(): Promise<{ signal: NodeJS.Signals | null; errors: string }> {
    if (this.#child.signalCode === null && this.#child.exitCode === null) await once(this.#child, 'close')
    return { signal: this.#child.signalCode, errors: this.#errors }
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended()
  }
}

function newFiles() {
  const name = join(folder, `saved-${++lastNumber}`)
  return { pages: `${name}.pages`, runs: `${name}.runs` }
}

function save(mapper: Mapper, files = newFiles()) {
  const place = { bakeMemory: join(folder, 'memory'), memoryBytes: PAGES * PAGE_BYTES }
  return { files, counted: saveMemory({ pid: mapper.pid, ...place, ...files }) }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-memory-'))
  const deadline = Deadline.after(60_000, 'compilation')
  const preload = ['-shared', '-fPIC', join(PACKAGE, 'native/guest-memory.c'), '-o', join(folder, 'guest-memory.so')]
  await runProgram('cc', ['-O1', '-Wall', '-Wextra', '-Werror', ...preload], deadline)
  await runProgram('cc', ['-O1', join(PACKAGE, 'src/test/map-memory.c'), '-o', join(folder, 'map-memory')], deadline)
  await writeFile(join(folder, 'memory'), Buffer.alloc(PAGES * PAGE_BYTES, 7), { mode: 0o444 })
})
afterEach(async () => {
  for (const mapper of processes.splice(0)) await mapper.kill()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('memory saved and restored', () => {
  it('is that of the moment, over generations, and only what differs is written', async () => {
    const first = await (await Mapper.start()).ready()
    await first.ask('w 10 4 1 1')
    await first.ask('w 1000 24 1 2')
    const saved = save(first)
    expect(saved.counted).toEqual({ pages: 28, runs: 2 })
    expect((await stat(saved.files.pages)).size).toBe(28 * PAGE_BYTES)
    await first.ask('w 10 1 1 9')

    const second = await (await Mapper.start(saved.files)).ready()
    const read = (mapper: Mapper) =>
      Promise.all([9, 10, 13, 14, 999, 1000, 1023].map((page) => mapper.ask(`r ${page}`)))
    expect(await read(second)).toEqual([7, 1, 1, 7, 7, 2, 2])
    await second.ask('w 14 1 1 3')
    await second.ask('w 1023 1 1 4')

    const third = await (await Mapper.start(save(second).files)).ready()
    expect(await read(third)).toEqual([7, 1, 1, 3, 7, 2, 4])
    expect(await read(second)).toEqual([7, 1, 1, 3, 7, 2, 4])
    expect((await readFile(join(folder, 'memory'))).every((byte) => byte === 7)).toBe(true)
  })

  it('is there with the first of the state, where it was not yet written when QEMU began', async () => {
    const first = await (await Mapper.start()).ready()
    const files = newFiles()
    for (const path of Object.values(files)) await writeFile(path, '')
    const ahead = await (await Mapper.start(files, { isAhead: true })).ready()
    await first.ask('w 10 4 1 1')
    save(first, files)
    expect([await ahead.ask('r 9'), await ahead.ask('r 10')]).toEqual([7, 7])
    ahead.sendState('xy')
    expect(await ahead.ask('s')).toBe(1)
    expect([await ahead.ask('r 9'), await ahead.ask('r 10')]).toEqual([7, 1])
    await ahead.ask('w 10 1 1 9')
    expect(await ahead.ask('s')).toBe(1)
    expect([await ahead.ask('r 10'), await ahead.ask('r 11')]).toEqual([9, 1])
  })

  it('is nobody’s when the state comes before it is whole', async () => {
    const files = newFiles()
    for (const path of Object.values(files)) await writeFile(path, '')
    const ahead = await (await Mapper.start(files, { isAhead: true })).ready()
    ahead.sendState('x')
    await ahead.ask('s')
    expect(await ahead.ended()).toMatchObject({ signal: 'SIGABRT', errors: expect.stringContaining('runs') })
  })

  it('holds when all of it was written, and none', async () => {
    const none = await (await Mapper.start()).ready()
    const empty = save(none)
    expect(empty.counted).toEqual({ pages: 0, runs: 0 })
    const first = await (await Mapper.start(empty.files)).ready()
    await first.ask(`w 0 ${PAGES} 1 5`)
    const whole = save(first)
    expect(whole.counted).toEqual({ pages: PAGES, runs: 1 })
    const second = await (await Mapper.start(whole.files)).ready()
    await second.ask('w 3 1 1 6')
    const again = save(second)
    expect(again.counted).toEqual({ pages: PAGES, runs: 1 })
    const third = await (await Mapper.start(again.files)).ready()
    expect([await third.ask('r 0'), await third.ask('r 3'), await third.ask(`r ${PAGES - 1}`)]).toEqual([5, 6, 5])
  })

  it('gives a page that the guest has given up back to its files', async () => {
    const first = await (await Mapper.start()).ready()
    await first.ask('w 100 50 1 1')
    const second = await (await Mapper.start(save(first).files)).ready()
    await second.ask('w 90 100 1 2')
    expect(await second.ask('d 90 100')).toBe(0)
    expect([await second.ask('r 95'), await second.ask('r 120')]).toEqual([7, 1])
  })
})

const run = (firstPage: number, pages: number): PageRun => ({ firstPage, pages })

describe('a list of runs that cannot be right', () => {
  it.each([
    ['two runs of the same page', encodeRuns([run(1, 2), run(2, 1)]), 3],
    ['a run past the end', encodeRuns([run(PAGES - 1, 2)]), 2],
    ['an empty run', encodeRuns([run(1, 0)]), 0],
    ['more pages than there are', encodeRuns([run(1, 2)]), 1],
    ['fewer pages than there are', encodeRuns([run(1, 2)]), 3],
    ['a torn list', encodeRuns([run(1, 1)]).subarray(0, 20), 1],
    ['another file', Buffer.alloc(24, 1), 1],
  ])('ends QEMU, with a word: %s', async (_name, runs, pages) => {
    const files = { pages: join(folder, 'bad.pages'), runs: join(folder, 'bad.runs') }
    await writeFile(files.pages, Buffer.alloc(pages * PAGE_BYTES))
    await writeFile(files.runs, runs)
    const mapper = await Mapper.start(files)
    expect(await mapper.line()).toBeUndefined()
    const { signal, errors } = await mapper.ended()
    expect(signal).toBe('SIGABRT')
    expect(errors).toMatch(/^guest memory: /)
  })
})
