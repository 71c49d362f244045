import type { LogLine } from '@offshoot/sdk'

/** A line of the page: one of the log, or a note about lines that are missing. */
export interface ShownLine {
  /** Counts up. */
  readonly key: number
  readonly stream: 'stdout' | 'stderr' | 'gap'
  readonly ts: string
  readonly source: string
  readonly text: string
}

export const MAX_LINES = 100_000
/** Characters of a line that are shown. */
const MAX_SHOWN_CHARS = 4000
/** Sequences that set colours and move the cursor (ECMA-48). */
// oxlint-disable-next-line no-control-regex
const CONTROL_SEQUENCES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[@-Z\\-_])/g

/** The text of a line without colours. A long line is cut. */
export function shownText(line: string): string {
  const plain = line.slice(0, MAX_SHOWN_CHARS * 2).replaceAll(CONTROL_SEQUENCES, '')
  const text = plain.slice(0, MAX_SHOWN_CHARS)
  const cut = line.length > MAX_SHOWN_CHARS * 2 || plain.length > MAX_SHOWN_CHARS
  return cut ? `${text}… (${line.length.toLocaleString('en')} characters)` : text
}

/** The latest lines of a log. It tells its listeners once a frame, however fast lines arrive. */
export class LogStore {
  #lines: readonly ShownLine[] = []
  #arrived: ShownLine[] = []
  #last = 0
  readonly #schedule: (flush: () => void) => void
  readonly #listeners = new Set<() => void>()

  /** @param schedule calls back with the next frame */
  constructor(schedule: (flush: () => void) => void) {
    this.#schedule = schedule
  }

  get lines(): readonly ShownLine[] {
    return this.#lines
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  add({ ts, stream, line, source }: LogLine): void {
    this.#push({ ts, stream, source, text: shownText(line) })
  }

  gap(count: number): void {
    this.#push({ ts: '', stream: 'gap', source: '', text: `${count.toLocaleString('en')} lines are no longer kept` })
  }

  #push(line: Omit<ShownLine, 'key'>): void {
    this.#last += 1
    this.#arrived.push({ key: this.#last, ...line })
    if (this.#arrived.length === 1) this.#schedule(() => this.#flush())
  }

  #flush(): void {
    const all = [...this.#lines, ...this.#arrived]
    this.#arrived = []
    this.#lines = all.length > MAX_LINES ? all.slice(-MAX_LINES) : all
    for (const listener of this.#listeners) listener()
  }
}
