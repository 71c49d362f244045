/** One server-sent event, reduced to the fields that we use. */
export interface ServerSentEvent {
  readonly id: string | null
  readonly event: string
  readonly data: string
}

/** Maximum characters of one event. An agent's record has a few hundred. */
const MAX_EVENT_CHARS = 1024 * 1024

/**
 * Parses a stream of server-sent events (WHATWG HTML, 9.2); chunks may end anywhere. Yields one batch per chunk: the
 * events that the chunk completed, so that a reader can apply a backlog in batches. Comments (heartbeats) yield an
 * empty batch.
 */
export async function* readServerSentEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent[]> {
  const decoder = new TextDecoder()
  let rest = ''
  /** The end of `rest`, where a separator may begin. To search all of `rest` for each chunk takes quadratic time. */
  let end = ''
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true })
    const searched = end + text
    end = searched.slice(-3)
    rest += text
    // A final CR may be half of a CRLF; it stays in `rest`.
    const frames = /\n\r?\n/.test(searched) ? rest.split(/\r?\n\r?\n/) : [rest]
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
