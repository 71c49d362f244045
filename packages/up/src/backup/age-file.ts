/**
 * Encrypts streams with a passphrase, in the format of age (https://age-encryption.org/v1), so that the program `age`
 * can open our backups too: scrypt, then ChaCha20-Poly1305 in chunks of 64 KiB. Each chunk is authenticated before it
 * is passed on, and the last one is marked, so that a truncated file is noticed.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'
import { SetupFailure } from '../base/setup-failure.ts'
import { ByteReader } from './byte-reader.ts'

const VERSION_LINE = 'age-encryption.org/v1'
const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
const FILE_KEY_BYTES = 16
const LINE_MAX_BYTES = 256
/** log2 of the cost of scrypt: 256 MiB of memory for about a second. */
const WORK_FACTOR = 18
/** A file that asks for more was made to exhaust the memory. */
const WORK_FACTOR_MAX = 20
const STANZA = /^-> scrypt ([A-Za-z0-9+/]{22}) ([1-9]\d?)$/

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

/** The content of the file is not what was written. */
function damaged(): SetupFailure {
  return new SetupFailure('The backup is damaged or truncated.')
}

/** @param workFactor log2 of the cost of scrypt */
export async function* encrypt(
  source: AsyncIterable<Uint8Array>,
  passphrase: string,
  workFactor = WORK_FACTOR,
): AsyncGenerator<Buffer> {
  const salt = randomBytes(16)
  const fileKey = randomBytes(FILE_KEY_BYTES)
  const wrapped = seal(await wrapKey(passphrase, salt, workFactor), Buffer.alloc(12), fileKey)
  const header = `${VERSION_LINE}\n-> scrypt ${base64(salt)} ${workFactor}\n${base64(wrapped)}\n---`
  const nonce = randomBytes(16)
  yield Buffer.concat([Buffer.from(`${header} ${base64(headerMac(fileKey, header))}\n`), nonce])

  const key = expand(fileKey, 'payload', nonce)
  const reader = new ByteReader(source)
  try {
    for (let index = 0, isLast = false; !isLast; index += 1) {
      const chunk = await reader.read(CHUNK_BYTES)
      isLast = await reader.isAtEnd()
      yield seal(key, chunkNonce(index, isLast), chunk)
    }
  } finally {
    await reader.close()
  }
}

/**
 * @throws {SetupFailure} on the first read if this is no such file or the passphrase is wrong, later if the file is
 * damaged
 */
export async function* decrypt(source: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Buffer> {
  const reader = new ByteReader(source)
  try {
    const fileKey = await readHeader(reader, passphrase)
    const key = expand(fileKey, 'payload', await reader.read(16))
    for (let index = 0, isLast = false; !isLast; index += 1) {
      const chunk = await reader.read(CHUNK_BYTES + TAG_BYTES)
      isLast = await reader.isAtEnd()
      const content = open(key, chunkNonce(index, isLast), chunk)
      if (content === null) throw damaged()
      yield content
    }
  } finally {
    await reader.close()
  }
}

async function readHeader(reader: ByteReader, passphrase: string): Promise<Buffer> {
  const version = await reader.readLine(LINE_MAX_BYTES)
  const stanza = version === VERSION_LINE ? await reader.readLine(LINE_MAX_BYTES) : null
  if (version !== VERSION_LINE) throw new SetupFailure('The file is not a backup of Offshoot.')
  const [, salt, workFactor] = STANZA.exec(stanza ?? '') ?? []
  const wrapped = await reader.readLine(LINE_MAX_BYTES)
  const macLine = await reader.readLine(LINE_MAX_BYTES)
  if (!salt || !wrapped || !macLine?.startsWith('--- ') || Number(workFactor) > WORK_FACTOR_MAX) throw damaged()

  const wrapping = await wrapKey(passphrase, Buffer.from(salt, 'base64'), Number(workFactor))
  const fileKey = open(wrapping, Buffer.alloc(12), Buffer.from(wrapped, 'base64'))
  if (fileKey === null) throw new SetupFailure('The passphrase is not the one of this backup.')
  const mac = headerMac(fileKey, `${version}\n${stanza}\n${wrapped}\n---`)
  const found = Buffer.from(macLine.slice('--- '.length), 'base64')
  if (found.length !== mac.length || !timingSafeEqual(found, mac)) throw damaged()
  return fileKey
}

async function wrapKey(passphrase: string, salt: Buffer, workFactor: number): Promise<Buffer> {
  const [N, r] = [2 ** workFactor, 8]
  const full = Buffer.concat([Buffer.from(`${VERSION_LINE}/scrypt`), salt])
  return derive(passphrase, full, 32, { N, r, p: 1, maxmem: 128 * N * r * 2 })
}

function expand(fileKey: Buffer, info: string, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', fileKey, salt, info, 32))
}

function headerMac(fileKey: Buffer, header: string): Buffer {
  const key = expand(fileKey, 'header', Buffer.alloc(0))
  return createHmac('sha256', key).update(header).digest()
}

function chunkNonce(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeBigUInt64BE(BigInt(index), 3)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

function seal(key: Buffer, nonce: Buffer, content: Uint8Array): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG_BYTES })
  return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()])
}

/** @returns `null` if the content is not what was sealed with this key */
function open(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer | null {
  if (sealed.length < TAG_BYTES) return null
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch {
    return null
  }
}

/** age writes base64 without padding. */
function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
