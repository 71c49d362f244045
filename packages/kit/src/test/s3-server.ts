import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const REGION = 'eu-central-1'
const BUCKET = 'copies'
const KEY_ID = 'test-key'
const SECRET = 'test-secret'

/** How the server misbehaves. `damaged`: it answers a read with a changed body; `cut`: it closes the connection within one. */
type Fault = 'none' | 'error-500' | 'full' | 'slow' | 'cut' | 'damaged'

/** A server that speaks S3: path-style addresses, AWS Signature Version 4, checksums of bodies, and errors as XML. */
export class S3Server {
  readonly objects = new Map<string, Buffer>()
  fault: Fault = 'none'
  /** Requests since the start. */
  requests = 0
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => response.destroy())
  })

  static async start(): Promise<S3Server> {
    const s3 = new S3Server()
    s3.#server.listen(0, '127.0.0.1')
    await once(s3.#server, 'listening')
    return s3
  }

  /** For `objects` in `settings.json`. */
  get settings() {
    const { port } = this.#server.address() as AddressInfo
    const account = { access_key_id: KEY_ID, secret_access_key: SECRET }
    return { s3: { endpoint: `http://127.0.0.1:${port}`, region: REGION, bucket: BUCKET, prefix: 'a/b', ...account } }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++
    const body = Buffer.concat(await request.toArray())
    // Never answers: the client must have a deadline.
    if (this.fault === 'slow') return
    if (this.fault === 'error-500') return refuse(response, 500, 'InternalError')
    const path = new URL(request.url ?? '', 'http://s3').pathname
    if (!isSigned(request, body)) return refuse(response, 403, 'SignatureDoesNotMatch')
    const [, bucket, ...rest] = path.split('/')
    if (bucket !== BUCKET) return refuse(response, 404, 'NoSuchBucket')
    const name = rest.join('/')
    if (request.method === 'PUT') return this.#put(request, response, name, body)
    if (request.method === 'DELETE') {
      this.objects.delete(name)
      return void response.writeHead(204).end()
    }
    const content = this.objects.get(name)
    if (content === undefined) return refuse(response, 404, 'NoSuchKey')
    response.writeHead(200, { 'content-length': content.length })
    if (this.fault === 'cut') return void response.write(content.subarray(0, 10), () => response.destroy())
    response.end(
      this.fault === 'damaged' ? content.map((byte, at) => (at === content.length - 1 ? byte ^ 1 : byte)) : content,
    )
  }

  #put(request: IncomingMessage, response: ServerResponse, name: string, body: Buffer): void {
    if (this.fault === 'full') return refuse(response, 507, 'XMinioStorageFull')
    if (this.fault === 'cut') return void response.destroy()
    if (request.headers['x-amz-content-sha256'] !== sha256(body))
      return refuse(response, 400, 'XAmzContentSHA256Mismatch')
    this.objects.set(name, body)
    response.writeHead(200, { etag: `"${createHash('md5').update(body).digest('hex')}"` }).end()
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>refused</Message></Error>`
  response.writeHead(status, { 'content-type': 'application/xml' }).end(xml)
}

/** AWS Signature Version 4 in the header `Authorization`. */
function isSigned({ method, url = '', headers }: IncomingMessage, body: Buffer): boolean {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
  const [, id, day = '', region = '', names = '', signature] = form.exec(headers.authorization ?? '') ?? []
  const hash = headers['x-amz-content-sha256']
  if (id !== KEY_ID || region !== REGION) return false
  if (hash !== 'UNSIGNED-PAYLOAD' && hash !== sha256(body)) return false
  const lines = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [method, url, '', lines.join(''), names, hash].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(Buffer.from(canonical))].join('\n')
  const key = [day, region, 's3', 'aws4_request'].reduce<Uint8Array>(hmac, Buffer.from(`AWS4${SECRET}`))
  return hmac(key, text).toString('hex') === signature
}

function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
