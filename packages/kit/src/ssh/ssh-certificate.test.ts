import { execFile } from 'node:child_process'
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyPairOf, readCertificate, signCertificate, type SshCertificate, type SshKeyPair } from './ssh-certificate.ts'
import { privateKeyFile } from './ssh-private-key.ts'
import { fingerprintOf, isSignedBy, parsePublicKey, parsePublicKeyLine, publicKeyLine } from './ssh-public-key.ts'
import { mpint, SshFormatError, string, uint32 } from './ssh-wire.ts'

const run = promisify(execFile)
const NOW = Math.floor(Date.now() / 1000)
let folder: string
let authority: SshKeyPair

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-ssh-'))
  authority = newPair()
  await writeFile(join(folder, 'ca'), privateKeyFile(authority), { mode: 0o600 })
  await writeFile(join(folder, 'ca.pub'), publicKeyLine(authority.publicKey))
})

afterAll(() => rm(folder, { recursive: true }))

function newPair(): SshKeyPair {
  return keyPairOf(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
}

async function keygen(...args: string[]): Promise<string> {
  return (await run('ssh-keygen', args, { cwd: folder })).stdout
}

const blobOf = (line: string) => Buffer.from(line.split(' ')[1] ?? '', 'base64')

function certificate(change: Partial<SshCertificate> = {}) {
  return signCertificate(authority, {
    key: newPair().publicKey,
    serial: 7n,
    keyId: 'who',
    principals: ['one', 'two'],
    validAfter: NOW,
    validBefore: NOW + 3600,
    criticalOptions: new Map(),
    extensions: new Map([
      ['permit-pty', Buffer.alloc(0)],
      ['caller@offshoot', Buffer.from('{}')],
    ]),
    ...change,
  })
}

describe('keys', () => {
  it.each([
    ['ed25519', []],
    ['ecdsa', ['-b', '256']],
    ['ecdsa', ['-b', '384']],
    ['ecdsa', ['-b', '521']],
    ['rsa', ['-b', '2048']],
  ])('of type %s %j are read as ssh-keygen writes them', async (type, more) => {
    const name = `key-${type}-${more.join('')}`
    await keygen('-q', '-t', type, ...more, '-N', '', '-C', 'a comment', '-f', name)
    const line = await readFile(join(folder, `${name}.pub`), 'utf8')
    const key = parsePublicKeyLine(line)
    expect(key.comment).toBe('a comment')
    expect(`${publicKeyLine(key)} a comment\n`).toBe(line)
    expect(await keygen('-l', '-f', `${name}.pub`)).toContain(fingerprintOf(key.blob))
  })

  it('of 1024 bits, of unknown types and in other formats are refused', async () => {
    await keygen('-q', '-t', 'rsa', '-b', '1024', '-N', '', '-f', 'short')
    const line = publicKeyLine(newPair().publicKey)
    const blob = blobOf(line)
    for (const wrong of [
      await readFile(join(folder, 'short.pub'), 'utf8'),
      await readFile(join(folder, 'ca'), 'utf8'),
      '',
      'ssh-ed25519',
      'ssh-ed25519 AAAA',
      line.replace('ssh-ed25519', 'ssh-rsa'),
      `ssh-ed25519 ${blob.subarray(0, -1).toString('base64')}`,
      `ssh-ed25519 ${Buffer.concat([blob, Buffer.alloc(1)]).toString('base64')}`,
      `ssh-dss ${Buffer.concat([string('ssh-dss'), string('x')]).toString('base64')}`,
      `command="x" ${line}`,
      `${line}\n${line}`,
    ])
      expect(() => parsePublicKeyLine(wrong)).toThrow(SshFormatError)
  })

  it('write a file from which ssh-keygen reads the same key', async () => {
    expect(await keygen('-y', '-f', 'ca')).toContain(publicKeyLine(authority.publicKey))
  })
})

describe('signatures', () => {
  const data = Buffer.from('signed')

  it('of RSA keys need SHA-2', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const { n = '', e = '' } = publicKey.export({ format: 'jwk' })
    const parts = [e, n].map((part) => mpint(Buffer.from(part, 'base64url')))
    const key = parsePublicKey(Buffer.concat([string('ssh-rsa'), ...parts]))
    const made = (hash: string, name: string) => Buffer.concat([string(name), string(sign(hash, data, privateKey))])
    expect(isSignedBy(key, 'rsa-sha2-512', data, made('sha512', 'rsa-sha2-512'))).toBe(true)
    expect(isSignedBy(key, 'rsa-sha2-256', data, made('sha512', 'rsa-sha2-512'))).toBe(false)
    expect(isSignedBy(key, 'ssh-rsa', data, made('sha1', 'ssh-rsa'))).toBe(false)
  })

  it('of ECDSA keys are two numbers', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' })
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
    const type = 'ecdsa-sha2-nistp521'
    const key = parsePublicKey(Buffer.concat([string(type), string('nistp521'), string(point)]))
    const fixed = sign('sha512', data, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    const numbers = Buffer.concat([mpint(fixed.subarray(0, 66)), mpint(fixed.subarray(66))])
    expect(isSignedBy(key, type, data, Buffer.concat([string(type), string(numbers)]))).toBe(true)
    expect(isSignedBy(key, type, Buffer.from('other'), Buffer.concat([string(type), string(numbers)]))).toBe(false)
    for (const wrong of [Buffer.alloc(0), string(type), Buffer.concat([string(type), string('x')])])
      expect(isSignedBy(key, type, data, wrong)).toBe(false)
  })

  it('of security keys need the touch of their user', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const { x = '' } = publicKey.export({ format: 'jwk' })
    const type = 'sk-ssh-ed25519@openssh.com'
    const key = parsePublicKey(Buffer.concat([string(type), string(Buffer.from(x, 'base64url')), string('ssh:')]))
    expect(isSignedBy(key, type, data, tokenSignature(type, privateKey, 1, data))).toBe(true)
    expect(isSignedBy(key, type, data, tokenSignature(type, privateKey, 0, data))).toBe(false)
  })
})

const sha256 = (of: string | Buffer) => createHash('sha256').update(of).digest()

function tokenSignature(type: string, privateKey: KeyObject, flags: number, data: Buffer): Buffer {
  const state = Buffer.concat([Buffer.of(flags), uint32(5)])
  const stated = Buffer.concat([sha256('ssh:'), state, sha256(data)])
  return Buffer.concat([string(type), string(sign(null, stated, privateKey)), state])
}

describe('certificates', () => {
  it('are what ssh-keygen reads', async () => {
    const { line } = certificate()
    await writeFile(join(folder, 'made-cert.pub'), line)
    const shown = await keygen('-L', '-f', 'made-cert.pub')
    expect(shown).toContain('ssh-ed25519-cert-v01@openssh.com user certificate')
    expect(shown).toContain(fingerprintOf(authority.publicKey.blob))
    expect(shown).toMatch(/Serial: 7[^]*one[^]*two[^]*permit-pty/)
  })

  it.each(['ed25519', 'ecdsa', 'rsa'])('of %s keys that ssh-keygen signs are read', async (type) => {
    await keygen('-q', '-t', type, '-N', '', '-f', `user-${type}`)
    await keygen('-q', '-s', 'ca', '-I', 'an id', '-n', 'root', '-V', '+1h', '-z', '9', `user-${type}.pub`)
    const read = readCertificate(
      blobOf(await readFile(join(folder, `user-${type}-cert.pub`), 'utf8')),
      authority.publicKey,
    )
    const key = parsePublicKeyLine(await readFile(join(folder, `user-${type}.pub`), 'utf8'))
    expect(read).toMatchObject({ serial: 9n, keyId: 'an id', principals: ['root'] })
    expect(read.key.blob.equals(key.blob)).toBe(true)
    expect([...read.extensions.keys()]).toContain('permit-pty')
  })

  it('come back with all their fields', () => {
    const { blob } = certificate({ criticalOptions: new Map([['force-command', Buffer.from('true')]]) })
    const read = readCertificate(blob, authority.publicKey)
    expect(read).toMatchObject({ serial: 7n, keyId: 'who', principals: ['one', 'two'], validBefore: NOW + 3600 })
    expect(read.criticalOptions.get('force-command')?.toString()).toBe('true')
    expect(read.extensions.get('caller@offshoot')?.toString()).toBe('{}')
  })

  it('are refused when one bit is changed, at any place', () => {
    const { blob } = certificate()
    for (let at = 0; at < blob.length; at++) {
      const changed = Buffer.from(blob)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(() => readCertificate(changed, authority.publicKey)).toThrow(SshFormatError)
    }
  })

  it('are refused when they are cut, longer, of a host, or of another authority', async () => {
    const { blob } = certificate()
    await keygen('-q', '-t', 'ed25519', '-N', '', '-f', 'host')
    await keygen('-q', '-s', 'ca', '-h', '-I', 'host', 'host.pub')
    const ofHost = blobOf(await readFile(join(folder, 'host-cert.pub'), 'utf8'))
    for (const wrong of [blob.subarray(0, -1), Buffer.concat([blob, Buffer.alloc(1)]), ofHost, Buffer.alloc(0)])
      expect(() => readCertificate(wrong, authority.publicKey)).toThrow(SshFormatError)
    expect(() => readCertificate(blob, newPair().publicKey)).toThrow('not signed by this authority')
  })
})
