import type { Readable } from 'node:stream'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import { type BuildFields, buildFields, jsonBuildBody, MAX_JSON_ROOTFS_BYTES } from '@offshoot/contract/build'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import { parseWith } from '../../platform/http/body.ts'
import type { BuildUpload } from './build-upload.ts'

/** Parts of a form besides the archive, and bytes of one part. */
const MAX_PARTS = 32
const MAX_FIELD_BYTES = 256 * 1024
/** Bytes of a JSON body: base64 adds a third. */
const MAX_JSON_BYTES = Math.ceil(MAX_JSON_ROOTFS_BYTES / 3) * 4 + 1024 * 1024
const DAMAGED = 'the form is damaged or cut short'
const NUMBERS = ['size_mb', 'cpu', 'memory_mb'] as const
const RAW = /^application\/(?:x-tar|tar|gzip|x-gzip|zstd|octet-stream)\b/i

/** Called with the fields as soon as they are known: before the archive, if they come first. */
export type CheckFields = (fields: BuildFields) => Promise<void>

/**
 * Reads a build in one of three forms, chosen by the content type: a form with a file `rootfs`, the archive itself with
 * the fields in the query, or JSON with the archive in base64. The archive is streamed on as it arrives.
 * @throws ApiError 400, 413, and the errors of `check` and of the upload
 */
export async function receiveBuild(
  request: FastifyRequest,
  upload: BuildUpload,
  check: CheckFields,
): Promise<BuildFields> {
  const type = request.headers['content-type'] ?? ''
  const body = request.body as Readable | undefined
  if (/^multipart\/form-data\b/i.test(type)) return receiveForm(request, type, upload, check)
  if (RAW.test(type)) {
    const fields = parseWith(buildFields, fromText(request.query as Record<string, unknown>))
    await check(fields)
    if (body === undefined) throw new ApiError('invalidField', { error: 'rootfs is required' })
    await upload.take(body)
    return fields
  }
  return receiveJson(body, upload, check)
}

/**
 * Converts numbers and flags, which are text in forms and queries. Invalid values stay as they are, so that the schema
 * refuses them.
 */
function fromText(texts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...texts }
  for (const name of NUMBERS) {
    const text = texts[name]
    if (typeof text === 'string' && /^[0-9]{1,9}$/.test(text)) fields[name] = Number(text)
  }
  const { replace } = texts
  if (['1', 'true', 'yes'].includes(String(replace))) fields['replace'] = true
  if (['0', 'false', 'no', ''].includes(String(replace))) fields['replace'] = false
  return fields
}

async function receiveJson(body: Readable | undefined, upload: BuildUpload, check: CheckFields): Promise<BuildFields> {
  const value = parseJson(body === undefined ? '{}' : await readBounded(body))
  const { rootfs, ...fields } = parseWith(jsonBuildBody, value)
  await check(fields)
  if (!isBase64(rootfs)) throw new ApiError('invalidField', { error: 'rootfs must be base64' })
  const bytes = Buffer.from(rootfs, 'base64')
  if (bytes.length > MAX_JSON_ROOTFS_BYTES) throw new ApiError('bodyTooLarge', { max_bytes: MAX_JSON_ROOTFS_BYTES })
  await upload.take(new PassThrough().end(bytes))
  return fields
}

/**
 * Whether `text` is base64, with whitespace allowed anywhere. Data and padding are matched separately: a single
 * expression with a whitespace quantifier on both sides of the padding backtracks quadratically, and callers send
 * megabytes.
 */
export function isBase64(text: string): boolean {
  const paddingAt = text.indexOf('=')
  const data = paddingAt < 0 ? text : text.slice(0, paddingAt)
  const padding = paddingAt < 0 ? '' : text.slice(paddingAt)
  return !/[^A-Za-z0-9+/\s]/.test(data) && /^={0,2}\s*$/.test(padding)
}

async function readBounded(body: Readable): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_JSON_BYTES) throw new ApiError('bodyTooLarge', { max_bytes: MAX_JSON_BYTES })
    parts.push(part)
  }
  return bytes === 0 ? '{}' : Buffer.concat(parts).toString()
}

function parseJson(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Falls through to the refusal below.
  }
  throw new ApiError('invalidJson')
}

/** Fields may come before or after the archive. Those before it are checked before the upload begins. */
async function receiveForm(
  { body }: FastifyRequest,
  type: string,
  upload: BuildUpload,
  check: CheckFields,
): Promise<BuildFields> {
  if (body === undefined) throw new ApiError('invalidField', { error: 'rootfs is required' })
  const texts: Record<string, unknown> = {}
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  let taking: Promise<void> | undefined
  const form = makeForm(type)
  form.on('field', (name, value, _nameTruncated, isTruncated) => {
    if (isTruncated) failed.reject(new ApiError('invalidField', { error: `${name} is too long` }))
    else if (name === 'rootfs') failed.reject(new ApiError('invalidField', { error: 'rootfs must be a file' }))
    else texts[name] = value
  })
  form.on('file', (name, file) => {
    // The part emits errors even if it is not read. Without a listener, an error would end this process.
    file.on('error', (cause) => {
      file.destroy()
      failed.reject(new ApiError('invalidField', { error: DAMAGED }, { cause }))
    })
    if (name !== 'rootfs' || taking !== undefined) {
      file.resume()
      return
    }
    taking = takeFile(file, texts, upload, check)
    taking.catch((error: unknown) => {
      file.resume()
      failed.reject(error)
    })
  })
  for (const event of ['partsLimit', 'fieldsLimit', 'filesLimit'] as const) {
    form.on(event, () => failed.reject(new ApiError('invalidField', { error: 'the form has too many parts' })))
  }
  const read = pipeline(body as Readable, form).catch((error: unknown) => {
    const source = (body as Readable).errored
    if (source instanceof ApiError) throw source
    throw new ApiError('invalidField', { error: DAMAGED }, { cause: error })
  })
  await Promise.race([read, failed.promise])
  if (taking === undefined) throw new ApiError('invalidField', { error: 'rootfs is required' })
  await taking
  const fields = parseWith(buildFields, fromText(texts))
  await check(fields)
  return fields
}

function makeForm(type: string) {
  try {
    const limits = { fieldSize: MAX_FIELD_BYTES, fields: MAX_PARTS, files: 1, parts: MAX_PARTS }
    return new Busboy({ headers: { 'content-type': type }, limits })
  } catch (error) {
    throw new ApiError('invalidField', { error: 'the form has no boundary' }, { cause: error })
  }
}

async function takeFile(
  file: Readable,
  texts: Readonly<Record<string, unknown>>,
  upload: BuildUpload,
  check: CheckFields,
): Promise<void> {
  if ('name' in texts) await check(parseWith(buildFields, fromText(texts)))
  if (file.destroyed) throw new ApiError('invalidField', { error: DAMAGED })
  // Uploads a copy of the stream, because the agent's client destroys its body on failure, and then the rest of the
  // form could not be read.
  const passed = new PassThrough()
  await Promise.all([pipeline(file, passed), upload.take(passed)])
}
