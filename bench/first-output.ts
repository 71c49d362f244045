import { once } from 'node:events'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { StringDecoder } from 'node:string_decoder'
import { finished } from 'node:stream/promises'
import type { Offshoot } from '../tests/setup/offshoot.ts'

const ANSWER_MS = 120_000
/** Characters of an answer in an error. */
const SHOWN_CHARS = 300

const keepAlive = new Agent({ keepAlive: true })

export interface StreamRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** An answer that is read up to its first output. */
export interface Opened {
  /** Reads the rest, so that the connection can serve the next request. */
  readonly rest: () => Promise<void>
}

/**
 * Sends a POST on a keep-alive connection, and reads the answer until it contains `mark`.
 * @throws Error if the status is not 200, or the answer ends without the mark
 */
export async function firstOutput({ url, headers, body }: StreamRequest, mark: string): Promise<Opened> {
  const content = Buffer.from(body)
  const request = httpRequest(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': content.length },
    agent: keepAlive,
  })
  const answered = once(request, 'response', { signal: AbortSignal.timeout(ANSWER_MS) }) as Promise<[IncomingMessage]>
  request.end(content)
  const [response] = await answered
  const ended = finished(response, { signal: AbortSignal.timeout(ANSWER_MS) })
  ended.catch(() => undefined)
  await readUntil(response, response.statusCode === 200 ? mark : null)
  return { rest: () => ended }
}

/** @param mark `null`: reads to the end and throws */
async function readUntil(response: IncomingMessage, mark: string | null): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let text = ''
  response.on('data', (chunk: Buffer) => {
    text += decoder.write(chunk)
    if (mark !== null && text.includes(mark)) resolve()
  })
  response.once('error', reject)
  response.once('close', () => {
    reject(new Error(`${response.statusCode} without the output: ${text.slice(0, SHOWN_CHARS)}`))
  })
  await promise
}

/** A request of our own API that answers server-sent events. */
export function ownStream({ credentials }: Offshoot, path: string, body: object): StreamRequest {
  return {
    url: credentials.base_url + path,
    headers: { authorization: `Bearer ${credentials.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}
