import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { MOVE_BEGIN, MOVE_END } from '@offshoot/contract/move-stream'
import { describe, expect, it } from 'vitest'
import { fakeSandbox } from '../../../test/fake-agent-state.ts'
import { fakeSnapshotStream, fakeStream, headerOf } from '../../../test/fake-move-stream.ts'
import { joinStreams } from './join-streams.ts'

const [ID, WORKSPACE, STORED, MOVE] = ['1', '2', '3', '4'].map(
  (digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`,
)
const BAKE = 'b'.repeat(64)

/** A stored stream with these files, each of which has this content. */
function storedWith(names: readonly string[], content: Buffer, hasBake: boolean): Buffer {
  const sandbox = fakeSandbox(ID ?? '', WORKSPACE ?? '', 'base', {})
  const header = headerOf(fakeStream(sandbox, STORED ?? '', BAKE, hasBake))
  const files = names.map((name) => ({ name, bytes: content.length, sha256: 'a'.repeat(64) }))
  const text = Buffer.from(JSON.stringify({ ...header, files, disk_bytes: content.length }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  const all = [Buffer.from(MOVE_BEGIN), length, text, ...names.map(() => content), Buffer.from(MOVE_END)]
  return zstdCompressSync(Buffer.concat(all))
}

/** In pieces, as objects are. */
function pieces(stream: Buffer, bytes = 1000): AsyncIterable<Buffer> {
  const all = Array.from({ length: Math.ceil(stream.length / bytes) }, (_, at) =>
    stream.subarray(at * bytes, (at + 1) * bytes),
  )
  return Readable.from(all) as AsyncIterable<Buffer>
}

async function* broken(beginning: Buffer) {
  yield beginning
  throw new Error('the store is away')
}

async function joined(own: Buffer, bake: Buffer | null) {
  const stream = joinStreams(pieces(own), bake && pieces(bake), MOVE ?? '')
  const plain = zstdDecompressSync(await buffer(stream))
  const bytes = plain.readUInt32BE(8)
  const header = JSON.parse(plain.subarray(12, 12 + bytes).toString())
  return { header, files: plain.subarray(12 + bytes) }
}

describe('a stored stream', () => {
  const content = Buffer.from(Array.from({ length: 50_000 }, (_, at) => (at * 7919) % 251))
  const small = Buffer.from('the bake')
  const own = storedWith(['usage.json', 'layers/0'], content, false)

  it('is sent with the id of the move, and otherwise as it is', async () => {
    const { header, files } = await joined(own, null)
    expect(header).toMatchObject({ move_id: MOVE, bake: { hash: BAKE, is_included: false } })
    expect(files.equals(Buffer.concat([content, content, Buffer.from(MOVE_END)]))).toBe(true)
  })

  it('is sent with its bake', async () => {
    const { header, files } = await joined(own, storedWith(['bake/memory'], small, true))
    expect(header).toMatchObject({ move_id: MOVE, bake: { is_included: true }, disk_bytes: 50_008 })
    expect(header.files.map((file: { name: string }) => file.name)).toEqual(['usage.json', 'layers/0', 'bake/memory'])
    expect(files.equals(Buffer.concat([content, content, small, Buffer.from(MOVE_END)]))).toBe(true)
  })

  it('may be of a snapshot, with a bake that was stored with a sandbox', async () => {
    const snapshot = {
      id: ID ?? '',
      workspace_id: WORKSPACE ?? '',
      sandbox_id: STORED ?? '',
      template: 'base',
      cpu: 1,
      memory_mb: 512,
      size_bytes: 1,
      created_at: new Date(0).toISOString(),
      origin: 'user',
    } as const
    const stored = fakeSnapshotStream(snapshot, { hash: BAKE, is_included: false }, true)
    const bake = storedWith(['bake/memory'], small, true)
    const stream = await buffer(joinStreams(pieces(stored), pieces(bake), null))
    const plain = zstdDecompressSync(stream)
    const header = JSON.parse(plain.subarray(12, 12 + plain.readUInt32BE(8)).toString())
    expect(header).toMatchObject({
      snapshot: { id: ID },
      bake: { is_included: true },
      files: [{ name: 'bake/memory' }],
    })
    expect(header).not.toHaveProperty('move_id')
  })

  it.each([
    ['cut', own.subarray(0, -9)],
    ['none of a sandbox', zstdCompressSync(Buffer.alloc(100))],
    ['empty', Buffer.alloc(0)],
    ['without an end', zstdCompressSync(zstdDecompressSync(own).subarray(0, -1))],
    ['not compressed', zstdDecompressSync(own)],
  ])('is refused if it is %s', async (_what, stream) => {
    await expect(joined(stream, null)).rejects.toThrow('the stored copy is damaged')
    await expect(joined(own, stream)).rejects.toThrow('the stored copy is damaged')
  })

  it('ends with the error of the store', async () => {
    const stream = joinStreams(broken(own.subarray(0, 10)), null, MOVE ?? '')
    await expect(buffer(stream)).rejects.toThrow('the stored copy is damaged')
  })
})
