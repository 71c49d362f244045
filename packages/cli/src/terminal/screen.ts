import type { Cli } from '../frame/cli.ts'

/** The size that programs get when the output is no terminal. */
const DEFAULT_SIZE = { rows: 24, cols: 80 }
/** The API's limit. */
const MOST = 1000
const LEAVE_ALTERNATE = '\u001B[?1049l'
/** Modes that programs switch on, and that would stay when their terminal is left: mouse, paste, keypad, cursor. */
const RESET =
  '\u001B[?1000l\u001B[?1002l\u001B[?1003l\u001B[?1004l\u001B[?1006l\u001B[?2004l\u001B[?1l\u001B>\u001B[?25h\u001B[0m'
const SWITCHES = /\u001B\[\?1049([hl])/g // oxlint-disable-line no-control-regex

/** The user's own terminal: raw while a remote one is on it, and as before afterwards. */
export class Screen {
  readonly #cli: Cli
  #isRaw = false
  #isAlternate = false
  /** The end of the output, in which a sequence may have begun. */
  #tail = ''

  constructor(cli: Cli) {
    this.#cli = cli
  }

  get size(): { rows: number; cols: number } {
    const { rows, columns } = this.#cli.streams.stdout as { rows?: number; columns?: number }
    if (!rows || !columns) return DEFAULT_SIZE
    return { rows: Math.min(rows, MOST), cols: Math.min(columns, MOST) }
  }

  /** Calls back when the user changes the size of the window. @returns ends that */
  onResize(listener: () => void): () => void {
    this.#cli.streams.stdout.on('resize', listener)
    return () => this.#cli.streams.stdout.off('resize', listener)
  }

  /** Passes on every key, also Ctrl-C. */
  begin(): void {
    const { stdin } = this.#cli.streams
    if (!stdin.isTTY || this.#isRaw) return
    stdin.setRawMode(true)
    this.#isRaw = true
  }

  /** @returns whether more may be written at once */
  write(bytes: Buffer): boolean {
    const text = this.#tail + bytes.toString('latin1')
    for (const [, way] of text.matchAll(SWITCHES)) this.#isAlternate = way === 'h'
    this.#tail = text.slice(-'\u001B[?1049'.length)
    return this.#cli.streams.stdout.write(bytes)
  }

  /** Restores the user's terminal. */
  end(): void {
    const { stdin, stdout } = this.#cli.streams
    stdin.pause()
    if (!this.#isRaw) return
    stdin.setRawMode(false)
    this.#isRaw = false
    if (stdout.isTTY === true) stdout.write((this.#isAlternate ? LEAVE_ALTERNATE : '') + RESET)
  }
}
