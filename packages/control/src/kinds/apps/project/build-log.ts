import type pg from 'pg'
import { appendBuildLog } from '../deployments/build-log-statements.ts'

/** Milliseconds until output is written. */
const FLUSH_MS = 150
/** Characters kept of one build. */
const MAX_CHARS = 16 * 1024 * 1024
/** Characters after which a line end is inserted. */
const MAX_LINE_CHARS = 64 * 1024

/** Writes the output of a build to the database, line by line, with a short delay. */
export class BuildLog {
  readonly #pool: pg.Pool
  readonly #deploymentId: string
  readonly #timer: NodeJS.Timeout
  #rest = ''
  #ready = ''
  #kept = 0
  #writing: Promise<unknown> = Promise.resolve()
  #failure: Error | null = null

  constructor(pool: pg.Pool, deploymentId: string) {
    this.#pool = pool
    this.#deploymentId = deploymentId
    this.#timer = setInterval(() => this.#flush(), FLUSH_MS)
  }

  /** Writes a line of control's own. */
  say(line: string): void {
    this.endLine()
    this.write(`${line}\n`)
  }

  /** Replaces NUL, which PostgreSQL cannot store in a text. */
  write(chunk: string): void {
    if (this.#kept > MAX_CHARS) return
    const text = this.#rest + chunk.replaceAll('\0', '\uFFFD')
    const end = text.length > MAX_LINE_CHARS ? text.length : text.lastIndexOf('\n') + 1
    this.#rest = text.slice(end)
    this.#ready += text.slice(0, end)
    this.#kept += end
    if (this.#kept > MAX_CHARS) {
      this.#rest = ''
      this.#ready += 'the log is full: what follows is not kept\n'
    }
  }

  /** Ends the last line if a command did not. */
  endLine(): void {
    if (this.#rest !== '') this.write('\n')
  }

  /** Call it once, at the end. @throws the error that prevented the log from being written */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.endLine()
    this.#flush()
    await this.#writing
    if (this.#failure !== null) throw this.#failure
  }

  #flush(): void {
    if (this.#ready === '') return
    const text = this.#ready
    this.#ready = ''
    this.#writing = this.#writing
      .then(() => appendBuildLog(this.#pool, this.#deploymentId, text))
      .catch((error: Error) => {
        this.#failure = error
      })
  }
}
