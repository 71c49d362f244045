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
 * The log of one sandbox: splits the output of its commands and its console into numbered lines, in two bounded files.
 *
 *     write ──► pending (bounded) ──► lines ──► file ──► recent lines in memory, followers
 *
 * Invariants:
 *  - A writer never waits.
 *  - A line is on disk before a follower gets it.
 *  - A slow follower reads from disk the lines that are no longer in memory; the log buffers nothing for it.
 *  - Splitting takes at most {@link WORK_SHARE} of the agent's time. If a command writes faster, the oldest pending output is
 *    dropped, and a remark in the log says so.
 */

/** Milliseconds to collect output before it is split, so that a busy command causes few writes. */
const GATHER_MS = 40
const WORK_SHARE = 0.1
/** Bytes of the newest lines in memory, so that followers rarely read from disk. */
const RECENT_BYTES = 64 * 1024
/** Milliseconds between polls of the console while the log has followers. */
const CONSOLE_POLL_MS = 200

/** Prefix of the source of a kept command's lines, before its id. */
const KEPT_SOURCE = 'exec:'
/** Overhead that each line counts beside its characters. */
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

  /** @param execId of a kept command; its lines then name it as their source */
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

  /** Resolves when all output written before the call is in the log file. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (let left = this.#pending.pieces + 1; left > 0; left -= 1) {
      this.#working = this.#working.then(() => this.#work())
      await this.#working
      if (this.#pending.pieces === 0) return
    }
  }

  /** The logged offsets of the kept commands that have lines in the log, by command id. */
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

  /** Reads new output of the console. @param isBounding also truncates its file if it is too long */
  async sweepConsole(isBounding: boolean): Promise<void> {
    while (this.#sweeping) await this.#sweeping
    this.#sweeping = this.#sweep(isBounding).finally(() => {
      this.#sweeping = undefined
    })
    await this.#sweeping
  }

  /** The number of the last line, after all console and pending output is in the log. */
  async settle(): Promise<number> {
    await this.#open()
    await this.sweepConsole(false)
    await this.flush()
    return this.#lastNumber
  }

  /** The retained lines with numbers from `first` to `last`. */
  async *read(first: number, last: number): AsyncGenerator<readonly LogRecord[]> {
    const { file } = await this.#open()
    for await (const records of file.read(first)) {
      const wanted = records.filter(({ n }) => n <= last)
      if (wanted.length > 0) yield wanted
      if (wanted.length < records.length) return
    }
  }

  /** The retained lines after `after`, then each new one, until the signal aborts or the log is closed. */
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

  /** Writes all pending output. Followers receive it and end. */
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
    // Also reached if rotation or a full disk has lost lines: the follower continues with the lines in memory.
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
    // `close` writes pending output at shutdown: the timer must not keep the process alive.
    this.#timer.unref()
  }

  #goOn(): void {
    this.#timer = undefined
    if (this.#pending.pieces > 0) this.#schedule(this.#pauseMs)
  }

  /** Writes one batch. Never rejects: no caller could handle the error. */
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

  /** Logs only the first error: on a full disk every further line fails, too. */
  #warnOnce(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#options.log.warn({ err: error, folder: this.#options.folder }, 'sandbox log not written')
  }
}
