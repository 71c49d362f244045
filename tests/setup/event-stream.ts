import { type IncomingMessage, request as httpRequest } from 'node:http'
import { StringDecoder } from 'node:string_decoder'
import type { Offshoot } from './offshoot.ts'

export interface ServerEvent {
  readonly event: string
  readonly id: string | undefined
  // Each test knows the shape that it requested.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
}

/** A response whose events are read one by one; `close` disconnects. */
export interface EventStream extends AsyncIterableIterator<ServerEvent> {
  readonly response: IncomingMessage
  /** Reads all events up to the end. */
  rest(): Promise<ServerEvent[]>
  close(): void
}

/** Opens a stream of events with the API key; throws if the answer is no event stream. */
export async function openEvents(
  offshoot: Offshoot,
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<EventStream> {
  const { base_url, api_key } = offshoot.credentials
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const request = httpRequest(base_url + path, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${api_key}`, ...headers },
  })
  request.on('response', resolve).on('error', reject)
  request.end(body === undefined ? undefined : JSON.stringify(body))
  const response = await promise
  const type = response.headers['content-type']
  if (type !== 'text/event-stream; charset=utf-8') throw new Error(`answered ${response.statusCode} ${type}`)
  const events = parse(response)
  return Object.assign(events, {
    response,
    close: () => void request.destroy(),
    rest: async () => {
      const all: ServerEvent[] = []
      for await (const event of events) all.push(event)
      return all
    },
  })
}

async function* parse(response: IncomingMessage): AsyncGenerator<ServerEvent> {
  const decoder = new StringDecoder('utf8')
  let text = ''
  for await (const chunk of response as AsyncIterable<Buffer>) {
    text += decoder.write(chunk)
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) if (!frame.startsWith(':')) yield parseFrame(frame)
  }
  if (text !== '') throw new Error(`the stream ended in the middle of a frame: ${text.slice(0, 100)}`)
}

function parseFrame(frame: string): ServerEvent {
  const fields = new Map(frame.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]))
  return {
    event: fields.get('event') ?? 'message',
    id: fields.get('id'),
    data: JSON.parse(fields.get('data') ?? 'null'),
  }
}
