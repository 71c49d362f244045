import { once, EventEmitter } from 'node:events'
import { appendFile, readFile, stat } from 'node:fs/promises'
import { buildLogLine, type BuildLogLine, type BuildStage } from '@offshoot/contract/build'
import type { Logger } from 'pino'

/** Maximum lines of one log, and characters per line. Longer logs and lines are cut. */
const MAX_LINES = 5_000
const MAX_CHARS = 2_000

/** The log of a build: in memory for its followers, and in a file for the next agent. */
export class BuildLog {
  readonly #path: string | null
  readonly #log: Logger
  readonly #lines: BuildLogLine[]
  readonly #changed = new EventEmitter().setMaxListeners(0)
  #writing: Promise<void> = Promise.resolve()
  #isOver: boolean
  stage: BuildStage = 'waiting'
  percent = 0

  private constructor(path: string | null, log: Logger, lines: BuildLogLine[], isOver: boolean) {
    this.#path = path
    this.#log = log
    this.#lines = lines
    this.#isOver = isOver
  }

  static async open(path: string, log: Logger, isOver: boolean): Promise<BuildLog> {
    const isThere = await stat(path).then(
      () => true,
      () => false,
    )
    const text = isThere ? await readFile(path, 'utf8') : ''
    const lines = text.split('\n').flatMap((line) => {
      try {
        return line === '' ? [] : [buildLogLine.parse(JSON.parse(line))]
      } catch {
        return [] // torn by a kill
      }
    })
    return new BuildLog(path, log, lines, isOver)
  }

  /** A log without a file, for a build without followers. */
  static inMemory(log: Logger): BuildLog {
    return new BuildLog(null, log, [], false)
  }

  /** Appends each line of `text`, and updates stage and progress. */
  say(text: string, stage: BuildStage = this.stage, percent: number = this.percent): void {
    this.stage = stage
    this.percent = Math.max(0, Math.min(100, Math.round(percent)))
    for (const line of text.replace(/\n$/, '').split('\n')) this.#add(line.slice(0, MAX_CHARS))
    this.#changed.emit('changed')
  }

  /** Ends the log; followers end, too. */
  end(): void {
    this.#isOver = true
    this.#changed.emit('changed')
  }

  async settle(): Promise<void> {
    await this.#writing
  }

  /** Lines from a number on (the first is 1), then live ones, until the build has ended. */
  async *follow(from: number, signal: AbortSignal): AsyncGenerator<{ n: number; line: BuildLogLine }[]> {
    for (let next = from; !signal.aborted;) {
      const lines = this.#lines.slice(next - 1).map((line, index) => ({ n: next + index, line }))
      next += lines.length
      if (lines.length > 0) yield lines
      else if (this.#isOver) return
      else await once(this.#changed, 'changed', { signal }).catch(() => undefined)
    }
  }

  get lines(): readonly BuildLogLine[] {
    return this.#lines
  }

  #add(line: string): void {
    if (this.#lines.length > MAX_LINES) return
    const text = this.#lines.length === MAX_LINES ? 'the log of this build is full' : line
    const entry = { ts: new Date().toISOString(), stage: this.stage, percent: this.percent, line: text }
    this.#lines.push(entry)
    const path = this.#path
    if (path === null) return
    this.#writing = this.#writing
      .then(() => appendFile(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 }))
      .catch((error: unknown) => this.#log.warn({ err: error }, 'a line of a build was not written'))
  }
}
