import { createHash } from 'node:crypto'
import { AwsClient } from 'aws4fetch'
import type { ObjectPlace } from './object-place.ts'

export interface S3Settings {
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** Without a first and a final slash. */
  readonly prefix: string
  readonly access_key_id: string
  readonly secret_access_key: string
}

/** Maximum bytes of an answer: a sealed chunk, or the manifest of a large backup. */
const MAX_OBJECT_BYTES = 64 * 1024 * 1024
/** Maximum characters of an error's body to read its code from. */
const MAX_ERROR_CHARS = 4096

/** The S3 server refused a request. */
export class S3Refusal extends Error {
  override readonly name = 'S3Refusal'
}

/** Objects in a bucket of a server that speaks S3. The caller retries: a backlog has more patience than a request. */
export class S3Place implements ObjectPlace {
  readonly #client: AwsClient
  readonly #base: string

  constructor({ endpoint, region, bucket, prefix, access_key_id, secret_access_key }: S3Settings) {
    this.#client = new AwsClient({
      accessKeyId: access_key_id,
      secretAccessKey: secret_access_key,
      region,
      service: 's3',
      retries: 0,
    })
    this.#base = [endpoint.replace(/\/+$/, ''), bucket, ...(prefix === '' ? [] : [prefix])].join('/')
  }

  async put(name: string, content: Uint8Array, signal: AbortSignal): Promise<void> {
    // The server compares the body with its hash, so a damaged upload is refused.
    const hash = createHash('sha256').update(content).digest('hex')
    const headers = { 'x-amz-content-sha256': hash, 'content-type': 'application/octet-stream' }
    const answer = await this.#ask('PUT', name, { headers, body: content as Uint8Array<ArrayBuffer>, signal })
    if (!answer.ok) throw await refusalOf(answer)
    await answer.body?.cancel()
  }

  async get(name: string, signal: AbortSignal): Promise<Buffer | null> {
    const answer = await this.#ask('GET', name, { signal })
    if (answer.ok) return contentOf(answer)
    const refusal = await refusalOf(answer)
    // 404 can also mean a missing bucket, or a server that is none of S3.
    if (answer.status === 404 && refusal.message.startsWith('NoSuchKey')) return null
    throw refusal
  }

  async remove(name: string, signal: AbortSignal): Promise<void> {
    const answer = await this.#ask('DELETE', name, { signal })
    if (answer.ok) return answer.body?.cancel()
    const refusal = await refusalOf(answer)
    if (!refusal.message.startsWith('NoSuchKey')) throw refusal
  }

  /** A redirection would lead to another server, for which the signature is not meant. */
  #ask(method: string, name: string, init: RequestInit): Promise<Response> {
    return this.#client.fetch(`${this.#base}/${name}`, { ...init, method, redirect: 'manual' })
  }
}

async function contentOf(answer: Response): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of answer.body ?? []) {
    bytes += part.length
    if (bytes > MAX_OBJECT_BYTES) throw new S3Refusal('the object is too large')
    parts.push(part)
  }
  return Buffer.concat(parts)
}

async function refusalOf(answer: Response): Promise<S3Refusal> {
  const text = (await answer.text()).slice(0, MAX_ERROR_CHARS)
  const code = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(text)?.[1] ?? 'no S3 error'
  return new S3Refusal(`${code} (status ${answer.status})`)
}
