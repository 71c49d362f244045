import type { Cli } from './cli.ts'

/** Milliseconds after which a wait is shown. */
const PATIENCE_MS = 500
const FRAME_MS = 100
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/**
 * One line on the terminal that says what is under way, once that takes more than half a second. Nothing is written if
 * the standard error is no terminal.
 */
export class Progress {
  readonly #cli: Cli
  readonly #begun = Date.now()
  readonly #timer: NodeJS.Timeout | null
  #text: string
  #frame = 0
  #isShown = false

  constructor(cli: Cli, text: string) {
    this.#cli = cli
    this.#text = text
    this.#timer = cli.streams.stderr.isTTY === true ? setInterval(() => this.#draw(), FRAME_MS) : null
    this.#timer?.unref()
  }

  /** Replaces the text. */
  say(text: string): void {
    this.#text = text
  }

  /** Removes the line, so that something else can be written. It appears again by itself. */
  clear(): void {
    if (this.#isShown) this.#cli.streams.stderr.write('\r\u001B[K')
    this.#isShown = false
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.clear()
  }

  #draw(): void {
    if (Date.now() - this.#begun < PATIENCE_MS) return
    const seconds = Math.floor((Date.now() - this.#begun) / 1000)
    const frame = FRAMES[this.#frame++ % FRAMES.length] ?? ''
    this.#cli.streams.stderr.write(`\r\u001B[K${frame} ${this.#text}${seconds > 1 ? ` (${seconds}s)` : ''}`)
    this.#isShown = true
  }
}

/** Waits for `work` and meanwhile shows what it is. */
export async function withProgress<T>(cli: Cli, text: string, work: Promise<T>): Promise<T> {
  // `using` would need syntax that Node 20 lacks.
  const progress = new Progress(cli, text)
  try {
    return await work
  } finally {
    progress[Symbol.dispose]()
  }
}
