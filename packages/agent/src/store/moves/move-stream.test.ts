import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { movedFile, moveHeader, type MoveHeader } from '@offshoot/contract/move-stream'
import { describe, expect, it } from 'vitest'
import { movedSandbox } from '../../test/moved-sandbox.ts'
import { MoveDamaged } from './move-damaged.ts'
import { readMove, writeMove } from './move-stream.ts'

const ID = '7b0c7a34-6f5c-4d1b-9a39-0d3d0e9a1c11'
const MIB = 1024 * 1024
const HASH = '0'.repeat(64)

function headerOf(contents: ReadonlyMap<string, Buffer>): MoveHeader {
  return {
    format: 1,
    move_id: ID,
    sandbox: movedSandbox(),
    memory: null,
    layers: 1,
    bake: { hash: HASH, is_included: false },
    disk_bytes: 0,
    files: [...contents].map(([name, { length }]) => ({ name, bytes: length, sha256: HASH })),
  }
}

async function encode(contents: ReadonlyMap<string, Buffer>, header: object = headerOf(contents)): Promise<Buffer> {
  return buffer(
    writeMove(header as MoveHeader, async function* ({ name }) {
      const content = contents.get(name) ?? Buffer.alloc(0)
      for (let at = 0; at < content.length; at += 64 * 1024) yield content.subarray(at, at + 64 * 1024)
    }),
  )
}

/** @returns the contents, and the bytes of data without the zeros between */
async function decode(stream: Buffer | Readable) {
  const contents = new Map<string, Buffer>()
  let dataBytes = 0
  await readMove(stream instanceof Readable ? stream : Readable.from([stream], { objectMode: false }), moveHeader, {
    header: async () => undefined,
    file: async ({ name, bytes }, read) => {
      const content = Buffer.alloc(bytes)
      await read(async (data, at) => {
        data.copy(content, at)
        dataBytes += data.length
      })
      contents.set(name, content)
    },
  })
  return { contents, dataBytes }
}

/** The uncompressed stream, to change it. */
async function plain(contents: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  return zstdDecompressSync(await encode(contents))
}

const one = new Map([['layers/0', randomBytes(10_000)]])

describe('a stream', () => {
  it('has every byte of its files, without their zeros', async () => {
    const sparse = Buffer.alloc(40 * MIB + 1234)
    randomBytes(3 * MIB).copy(sparse, 8 * MIB)
    sparse.write('x', 20 * MIB + 5000)
    const contents = new Map([
      ['events.jsonl', Buffer.from('{}\n')],
      ['log.jsonl', Buffer.alloc(0)],
      ['memory/pages', Buffer.alloc(5 * MIB)],
      ['layers/0', sparse],
      ['layers/1', randomBytes(4097)],
    ])
    const stream = await encode(contents)
    const decoded = await decode(stream)
    for (const [name, content] of contents) expect(decoded.contents.get(name)?.equals(content)).toBe(true)
    expect(decoded.dataBytes).toBe(3 + 3 * MIB + 4096 + 4097)
    expect(stream.length).toBeLessThan(3.1 * MIB)
  })

  it('may come in pieces of one byte', async () => {
    const bytes = await encode(one)
    const pieces = Readable.from(
      (function* () {
        for (let at = 0; at < bytes.length; at++) yield bytes.subarray(at, at + 1)
      })(),
      { objectMode: false },
    )
    expect((await decode(pieces)).contents).toEqual(one)
  })

  it('is refused if it ends anywhere before its end', async () => {
    const whole = await encode(one)
    const uncompressed = zstdDecompressSync(whole)
    for (const share of [0, 0.01, 0.5, 0.99]) {
      await expect(decode(whole.subarray(0, whole.length * share))).rejects.toThrow(MoveDamaged)
      const cut = zstdCompressSync(uncompressed.subarray(0, uncompressed.length * share))
      await expect(decode(cut)).rejects.toThrow(MoveDamaged)
    }
  })

  it('fails with the error of its source', async () => {
    const broken = writeMove(headerOf(one), async function* () {
      yield Buffer.alloc(10)
      throw new Error('the disk is broken')
    })
    await expect(buffer(broken)).rejects.toThrow('the disk is broken')
  })

  it.each<readonly [string, (bytes: Buffer) => Buffer]>([
    ['another version', (bytes) => Buffer.concat([Buffer.from('OFFMOVE2'), bytes.subarray(8)])],
    ['bytes after its end', (bytes) => Buffer.concat([bytes, Buffer.from('x')])],
    ['another end', (bytes) => Buffer.concat([bytes.subarray(0, -8), Buffer.from('OFFMOVE?')])],
    ['a header that is too long', (bytes) => Buffer.concat([bytes.subarray(0, 8), Buffer.from('ffffffff', 'hex')])],
    ['a header that is no JSON', (bytes) => Buffer.from(bytes).fill('x', 12, 13)],
  ])('is refused with %s', async (_what, change) => {
    await expect(decode(zstdCompressSync(change(await plain(one))))).rejects.toThrow(MoveDamaged)
  })

  it.each([
    ['more zeros than the file has bytes', [10_001, 0]],
    ['more data than the file has bytes', [9000, 2000]],
    ['more data than one part may have', [0, 2 * MIB]],
    ['nothing', [0, 0]],
  ] as const)('is refused with a part that has %s', async (_what, [zeros, length]) => {
    const bytes = await plain(one)
    const at = bytes.length - 8 - 10_000 - 8
    bytes.writeUInt32BE(zeros, at)
    bytes.writeUInt32BE(length, at + 4)
    await expect(decode(zstdCompressSync(bytes))).rejects.toThrow('the length of a part is impossible')
  })

  it('is refused with a header of another format or with unknown fields', async () => {
    for (const change of [{ format: 2 }, { path: '/etc' }, { layers: 100_000 }, { sandbox: null }])
      await expect(decode(await encode(one, { ...headerOf(one), ...change }))).rejects.toThrow('the header is invalid')
  })
})

describe('the name of a file', () => {
  it.each([
    '../../../etc/shadow',
    '/etc/shadow',
    'layers/../../checkpoint.key',
    'layers/0/../1',
    'layers/00',
    'layers/1000',
    'layers/',
    'bake/../bake.json',
    'bake/content.json',
    'bake/overlay.qcow2',
    'memory/checkpoint.json',
    'memory/base-10.pages',
    'manifest.json',
    'events.jsonl\n',
    'events.jsonl\0',
    'LOG.JSONL',
    '',
  ])('may not be %j', (name) => {
    expect(movedFile.safeParse({ name, bytes: 1, sha256: HASH }).success).toBe(false)
  })
})
