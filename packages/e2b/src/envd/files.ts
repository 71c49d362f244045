import type { IncomingMessage, ServerResponse } from 'node:http'
import { posix } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { Busboy, type BusboyFileStream, type BusboyHeaders } from '@fastify/busboy'
import { absolutePath, type EnvdCall, userOfRequest } from './call.ts'
import { answerJson, HttpFailure } from './http-answer.ts'

/** Beginning of the names of headers that give a file metadata. */
const METADATA_HEADERS = 'x-metadata-'
/** Files in one upload. */
const MAX_FILES = 10_000

interface Written {
  readonly name: string
  readonly type: 'file'
  readonly path: string
}

/** `GET /files`: the content of a file. */
export async function readFile(call: EnvdCall, url: URL, request: IncomingMessage, response: ServerResponse) {
  const { headers } = request
  const user = userOfRequest(url.searchParams, headers)
  const path = absolutePath(required(url.searchParams.get('path')), user)
  const range = headers.range === undefined ? {} : { headers: { range: headers.range } }
  const answer = await call.control.open(call.request('GET', '/fs', { query: { path, owner: user }, ...range }))
  const isGzip = headers['accept-encoding'] === 'gzip'
  for (const name of ['content-type', 'content-range', 'accept-ranges']) {
    const value = answer.headers[name]
    if (value !== undefined) response.setHeader(name, value)
  }
  const length = answer.headers['content-length']
  if (isGzip) response.setHeader('content-encoding', 'gzip')
  else if (length !== undefined) response.setHeader('content-length', length)
  response.setHeader('content-disposition', `inline; filename*=UTF-8''${encodeURIComponent(posix.basename(path))}`)
  response.writeHead(answer.statusCode)
  await (isGzip ? pipeline(answer.body, createGzip(), response) : pipeline(answer.body, response))
}

/** `POST /files`: writes one file from octets, or several from a form. Control makes the folders above them. */
export async function writeFiles(call: EnvdCall, url: URL, request: IncomingMessage, response: ServerResponse) {
  const user = userOfRequest(url.searchParams, request.headers)
  const given = url.searchParams.get('path')
  if (Object.keys(request.headers).some((name) => name.startsWith(METADATA_HEADERS)))
    throw new HttpFailure(501, "Offshoot's E2B gateway does not support metadata of files")
  const isForm = /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')
  const body = unpacked(request)
  const written = isForm
    ? await writeForm(call, request, body, (filename) => absolutePath(required(given || filename), user), user)
    : [await writeFile(call, absolutePath(required(given), user), user, body)]
  answerJson(response, 200, written)
}

async function writeForm(
  call: EnvdCall,
  { headers }: IncomingMessage,
  body: Readable,
  pathOf: (filename: string) => string,
  user: string,
): Promise<Written[]> {
  const writes: Promise<Written>[] = []
  const form = new Busboy({
    headers: headers as BusboyHeaders,
    preservePath: true,
    limits: { files: MAX_FILES },
    // Some programs send the content as a plain field without a file name.
    isPartAFile: (field, _contentType, filename) => field === 'file' || filename !== undefined,
  })
  form.on('file', (_field: string, stream: BusboyFileStream, filename: string) => {
    const write = Promise.resolve().then(() => writeFile(call, pathOf(filename), user, stream))
    // Without a reader the rest of the form would wait forever.
    write.catch(() => stream.resume())
    writes.push(write)
  })
  try {
    await pipeline(body, form)
  } catch (error) {
    throw new HttpFailure(400, `invalid form: ${(error as Error).message}`)
  }
  const written = await Promise.all(writes)
  if (written.length === 0) throw new HttpFailure(400, 'the form has no file')
  return written
}

async function writeFile(call: EnvdCall, path: string, user: string, body: Readable): Promise<Written> {
  const request = call.request('PUT', '/fs', { query: { path, owner: user }, headers: OCTETS, body })
  await call.writes.during(call.sandboxId, path, () => call.control.send(request))
  return { name: posix.basename(path), type: 'file', path }
}

const OCTETS = { 'content-type': 'application/octet-stream' }

function unpacked(request: IncomingMessage): Readable {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return request
  if (encoding !== 'gzip') throw new HttpFailure(400, `unsupported content encoding: ${encoding}`)
  const gunzip = createGunzip()
  request.on('error', (error) => gunzip.destroy(error))
  return request.pipe(gunzip)
}

function required(path: string | null): string {
  if (path === null || path === '') throw new HttpFailure(400, 'path required')
  return path
}
