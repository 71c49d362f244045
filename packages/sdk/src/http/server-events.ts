import { ConnectionError } from './errors.ts'
import { delay } from './deadline.ts'

/** One server-sent event (WHATWG HTML, 9.2). */
export interface ServerEvent {
  /** `message` if the stream names none. */
  readonly event: string
  readonly data: string
  /** The position of the event, where the stream has positions. */
  readonly id: string | null
}

/** The service sends a comment every 15 s. A connection that is silent for longer is broken. */
const SILENCE_MS = 60_000

/**
 * Yields the events of a stream. An event without its blank line at the end is cut off, and none.
 * @throws ConnectionError if the connection breaks or is silent for a minute
 */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  const frame = new Frame()
  let rest = ''
  for await (const text of texts(body)) {
    const lines = text.split('\n')
    lines[0] = rest + (lines[0] ?? '')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const event = frame.take(line.endsWith('\r') ? line.slice(0, -1) : line)
      if (event !== null) yield event
    }
  }
}

class Frame {
  #event = 'message'
  #data: string[] = []
  #id: string | null = null

  /** An empty line ends the event. */
  take(line: string): ServerEvent | null {
    if (line === '') return this.#end()
    const colon = line.indexOf(':')
    if (colon === 0) return null
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line.startsWith(': ', colon) ? colon + 2 : colon + 1)
    if (field === 'event') this.#event = value
    else if (field === 'data') this.#data.push(value)
    else if (field === 'id') this.#id = value
    return null
  }

  #end(): ServerEvent | null {
    const [event, data] = [this.#event, this.#data]
    this.#event = 'message'
    this.#data = []
    return data.length === 0 ? null : { event, data: data.join('\n'), id: this.#id }
  }
}

async function* texts(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  for await (const bytes of chunks(body, SILENCE_MS)) yield decoder.decode(bytes, { stream: true })
  yield decoder.decode()
}

/**
 * Yields the chunks of a body, and cancels it if the consumer leaves.
 * @param silenceMs longest wait for a chunk; 0: no limit
 */
async function* chunks(body: ReadableStream<Uint8Array>, silenceMs = 0): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  let isOpen = true
  try {
    for (;;) {
      const { done, value } = await (silenceMs > 0 ? orSilence(reader.read(), silenceMs) : reader.read())
      if (done) break
      yield value
    }
    isOpen = false
  } finally {
    if (isOpen) await reader.cancel().catch(() => undefined)
  }
}

async function orSilence<T>(reading: Promise<T>, ms: number): Promise<T> {
  const answered = new AbortController()
  const silence = delay(ms, answered.signal).then(
    () => Promise.reject(new ConnectionError(`the stream was silent for ${ms} ms`)),
    () => new Promise<never>(() => undefined),
  )
  try {
    return await Promise.race([reading, silence])
  } finally {
    answered.abort()
  }
}
