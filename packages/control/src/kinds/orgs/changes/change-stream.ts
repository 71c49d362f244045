import type { Writable } from 'node:stream'
import type { Change } from '@offshoot/contract/change'

/** Changed objects that wait for a slow reader. With more of them, it is told to read everything instead. */
const MAX_WAITING = 1_000

/**
 * Writes changes as server-sent events: `connected` first, then `change` for each changed object, and `missed` where the
 * reader must read everything again. While a reader takes nothing, changes of the same object become one message.
 */
export class ChangeStream {
  readonly #raw: Writable
  #waiting = new Map<string, Change>()
  #hasMissed = false
  #isFull = false

  constructor(raw: Writable) {
    this.#raw = raw
    this.#write(frame('connected', {}))
  }

  changed(changes: readonly Change[]): void {
    if (!this.#hasMissed) {
      for (const { kind, id } of changes) this.#waiting.set(`${kind} ${id}`, { kind, id })
      if (this.#waiting.size > MAX_WAITING) this.#hasMissed = true
    }
    this.#flush()
  }

  missed(): void {
    this.#hasMissed = true
    this.#flush()
  }

  /** Shows the reader that the connection lives. */
  beat(): void {
    if (!this.#isFull) this.#write(':\n\n')
  }

  #flush(): void {
    if (this.#isFull) return
    const frames = this.#hasMissed
      ? frame('missed', {})
      : [...this.#waiting.values()].map((each) => frame('change', each)).join('')
    this.#waiting = new Map()
    this.#hasMissed = false
    if (frames !== '') this.#write(frames)
  }

  #write(text: string): void {
    if (this.#raw.writableEnded || this.#raw.destroyed || this.#raw.write(text)) return
    this.#isFull = true
    this.#raw.once('drain', () => {
      this.#isFull = false
      this.#flush()
    })
  }
}

function frame(event: 'connected' | 'change' | 'missed', data: Change | {}): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
