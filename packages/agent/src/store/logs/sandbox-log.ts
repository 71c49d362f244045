import type { LogStream } from '@offshoot/contract/log'
import type { Logger } from 'pino'
import { ChangeSignal } from '../events/change-signal.ts'
import { NOTHING_LOGGED, type CommandLog, type LoggedOutput } from './command-log.ts'
import { ConsoleFile } from './console-file.ts'
import { LineSplitter } from './line-splitter.ts'
import { PendingOutput, remark, type Piece } from './pending-output.ts'
import { LogFile } from './log-file.ts'
import { CONSOLE_SOURCE, formatLogRecord, type LogRecord } from './log-record.ts'

/**
 * The log of one sandbox: what its commands and its console write becomes numbered lines in two bounded files.
 *
 *     write ──► pending (bounded) ──► lines ──► file ──► recent, followers
 *
 * Invariants: a writer never waits; lines are on disk before a follower hears of them; a follower sets its own pace and
 * reads from disk what has left memory. Making lines takes at most a {@link WORK_SHARE} of the agent's time: what a
 * command writes faster than that pushes out the oldest that waits, and a remark says so.
 */

/** Milliseconds from output to its lines, so that a busy command makes one write of many. */
const GATHER_MS = 40
const WORK_SHARE = 0.1
/** Bytes of newest lines in memory, so that followers rarely read the disk. */
const RECENT_BYTES = 64 * 1024
/** Milliseconds between looks at the console while somebody follows. */
const CONSOLE_POLL_MS = 200

/** What the source of a kept command's lines begins with, before its id. */
const KEPT_SOURCE = 'exec:'
/** What a line counts beside its characters. */
const LINE_BYTES = 256

interface Opened {
  readonly file: LogFile
  readonly console: ConsoleFile
}

export interface SandboxLogOptions {
  /** The sandbox's own folder. */
  readonly folder: string
  readonly consolePath: string
  readonly log: Logger
}

export class SandboxLog {
  readonly #options: SandboxLogOptions
  readonly #changes = new ChangeSignal()
  readonly #pending = new PendingOutput()
  readonly #console = new LineSplitter()
  #opened: Promise<Opened> | undefined
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> = Promise.resolve()
  #sweeping: Promise<void> | undefined
  #recent: LogRecord[] = []
  #lastNumber = 0
  #isClosed = false
  #hasFailed = false
  #followers = 0
  #pauseMs = GATHER_MS
  #poll: NodeJS.Timeout | undefined

  constructor(options: SandboxLogOptions) {
    this.#options = options
  }

  /** @param execId of a kept command, which tells its lines from those of others */
  command(execId?: string): CommandLog {
    const source = execId === undefined ? 'exec' : KEPT_SOURCE + execId
    const outputs: Partial<Record<LogStream, Pick<Piece, 'splitter' | 'stream' | 'source' | 'end'>>> = {}
    const take = (stream: LogStream, bytes: Uint8Array | null, end: number | null) => {
      const { splitter } = outputs[stream] ?? { splitter: new LineSplitter() }
      outputs[stream] = { splitter, stream, source, end }
      this.#take({ splitter, stream, source, bytes, receivedAtMs: Date.now(), end })
    }
    return {
      write: (stream, bytes, end) => take(stream, bytes, end ?? null),
      end: () => {
        for (const { stream, end } of Object.values(outputs)) take(stream, null, end)
      },
    }
  }

  /** Resolves when all that was written before is on disk. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (let left = this.#pending.pieces + 1; left > 0; left -= 1) {
      this.#working = this.#working.then(() => this.#work())
      await this.#working
      if (this.#pending.pieces === 0) return
    }
  }

  /** How far the log has come with the kept commands that have a line in it, by their ids. */
  async keptOutput(): Promise<Map<string, LoggedOutput>> {
    await this.flush()
    const { file } = await this.#open()
    const logged = new Map<string, LoggedOutput>()
    for await (const records of file.read(1)) {
      for (const { source, stream, at } of records) {
        if (at === undefined || !source.startsWith(KEPT_SOURCE)) continue
        const id = source.slice(KEPT_SOURCE.length)
        logged.set(id, { ...(logged.get(id) ?? NOTHING_LOGGED), [stream]: at })
      }
    }
    return logged
  }

  /** Takes in what the console has new. @param isBounding also keeps its file from growing for ever */
  async sweepConsole(isBounding: boolean): Promise<void> {
    while (this.#sweeping) await this.#sweeping
    this.#sweeping = this.#sweep(isBounding).finally(() => {
      this.#sweeping = undefined
    })
    await this.#sweeping
  }

  /** Number of the last line there is now, console and pending output included. */
  async settle(): Promise<number> {
    await this.#open()
    await this.sweepConsole(false)
    await this.flush()
    return this.#lastNumber
  }

  /** The kept lines with numbers from `first` to `last`. */
  async *read(first: number, last: number): AsyncGenerator<readonly LogRecord[]> {
    const { file } = await this.#open()
    for await (const records of file.read(first)) {
      const wanted = records.filter(({ n }) => n <= last)
      if (wanted.length > 0) yield wanted
      if (wanted.length < records.length) return
    }
  }

  /** The kept lines after `after`, then each new one, until the signal aborts or the log is closed. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<readonly LogRecord[]> {
    this.#addFollower()
    try {
      await this.#open()
      for (let cursor = after; !signal.aborted;) {
        if (cursor >= this.#lastNumber) {
          if (this.#isClosed) return
          await this.#changes.wait(signal)
          continue
        }
        for await (const records of this.#kept(cursor)) {
          if (signal.aborted) return
          cursor = records.at(-1)?.n ?? cursor
          yield records
        }
      }
    } finally {
      this.#removeFollower()
    }
  }

  /** Writes what waits; followers get it and end. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      await this.sweepConsole(false).catch(() => undefined)
      this.#isClosed = true
    }
    await this.flush()
    clearInterval(this.#poll)
    this.#changes.notify()
  }

  async *#kept(cursor: number): AsyncGenerator<readonly LogRecord[]> {
    const first = this.#recent[0]
    if (!first || first.n > cursor + 1) {
      const { file } = await this.#open()
      let isEmpty = true
      for await (const records of file.read(cursor + 1)) {
        isEmpty = false
        yield records
      }
      if (!isEmpty) return
    }
    // Also what to go on with when rotation or a full disk has taken the lines in between.
    const unseen = this.#recent.filter(({ n }) => n > cursor)
    if (unseen.length > 0) yield unseen
    else yield [{ ...remark('lines are missing here'), n: this.#lastNumber }]
  }

  #take(piece: Piece): void {
    if (this.#isClosed) return
    this.#pending.add(piece)
    this.#schedule(GATHER_MS)
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#working = this.#working.then(() => this.#work()).then(() => this.#goOn())
    }, delayMs)
    // What waits is written when the agent ends; the timer is no reason to stay.
    this.#timer.unref()
  }

  #goOn(): void {
    this.#timer = undefined
    if (this.#pending.pieces > 0) this.#schedule(this.#pauseMs)
  }

  /** One batch: never rejects, since nobody who could do something about it waits. */
  async #work(): Promise<void> {
    try {
      const { file } = await this.#open()
      const startedAt = performance.now()
      const records = this.#pending.takeLines(this.#lastNumber)
      const text = records.map(formatLogRecord).join('')
      this.#pauseMs = Math.max(GATHER_MS, (performance.now() - startedAt) * (1 / WORK_SHARE - 1))
      if (records.length === 0) return
      await file.append(text).catch((error: unknown) => this.#warnOnce(error))
      this.#publish(records)
    } catch (error) {
      this.#warnOnce(error)
      this.#pending.clear()
    }
  }

  #publish(records: readonly LogRecord[]): void {
    const all = [...this.#recent, ...records]
    let first = all.length
    for (let bytes = 0; first > 0 && bytes < RECENT_BYTES; first -= 1) {
      bytes += (all[first - 1]?.line.length ?? 0) + LINE_BYTES
    }
    this.#recent = all.slice(first)
    this.#lastNumber = records.at(-1)?.n ?? this.#lastNumber
    this.#changes.notify()
  }

  async #sweep(isBounding: boolean): Promise<void> {
    const { console } = await this.#open()
    for await (const { bytes, end } of console.read(isBounding)) {
      const place = { stream: 'stdout', source: CONSOLE_SOURCE } as const
      this.#take({ splitter: this.#console, ...place, bytes, receivedAtMs: Date.now(), end })
    }
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#load()
    return this.#opened
  }

  async #load(): Promise<Opened> {
    const { file, lastNumber, consoleBytes } = await LogFile.open(this.#options.folder)
    this.#lastNumber = lastNumber
    return { file, console: new ConsoleFile(this.#options.consolePath, consoleBytes) }
  }

  #addFollower(): void {
    this.#followers += 1
    this.#poll ??= setInterval(() => {
      this.sweepConsole(false).catch((error: unknown) => this.#warnOnce(error))
    }, CONSOLE_POLL_MS).unref()
  }

  #removeFollower(): void {
    this.#followers -= 1
    if (this.#followers > 0) return
    clearInterval(this.#poll)
    this.#poll = undefined
  }

  /** Once: a disk that is full for one line is full for the next thousand. */
  #warnOnce(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#options.log.warn({ err: error, folder: this.#options.folder }, 'sandbox log not written')
  }
}
