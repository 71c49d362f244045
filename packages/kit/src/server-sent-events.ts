/** One server-sent event; only the fields we need. */
export interface ServerSentEvent {
  readonly id: string | null
  readonly event: string
  readonly data: string
}

/** Characters of one event; an agent's record has a few hundred. */
const MAX_EVENT_CHARS = 1024 * 1024

/**
 * Cuts a stream into server-sent events (WHATWG HTML, 9.2), however its chunks fall: gives with each chunk the events
 * it completed, so that a reader can take a backlog in batches. Comments (heartbeats) give an empty batch.
 */
export async function* readServerSentEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent[]> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const text = rest + decoder.decode(chunk, { stream: true })
    // A CR at the very end may be half of a CRLF: it stays in `rest`.
    const frames = text.split(/\r?\n\r?\n/)
    rest = frames.pop() ?? ''
    if (rest.length > MAX_EVENT_CHARS) throw new Error(`server-sent event over ${MAX_EVENT_CHARS} characters`)
    yield frames.map(parseFrame).filter((event) => event !== null)
  }
}

function parseFrame(frame: string): ServerSentEvent | null {
  const data: string[] = []
  let id: string | null = null
  let event = 'message'
  for (const line of frame.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') data.push(value)
    else if (name === 'id') id = value
    else if (name === 'event') event = value
  }
  return data.length === 0 ? null : { id, event, data: data.join('\n') }
}
