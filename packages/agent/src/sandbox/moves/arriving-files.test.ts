import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { MovedFile, MoveHeader } from '@offshoot/contract/move-stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DiskRoom } from '../../store/data-dir/disk-room.ts'
import { openLayers } from '../../test/test-checkpoints.ts'
import type { Arrival } from '../model/arrivals.ts'
import { ArrivingFiles } from './arriving-files.ts'

const silent = { info: () => undefined, warn: () => undefined }
const MIB = 1024 ** 2
let root: string
let arrival: Arrival

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-arriving-'))
  const ids = { workspaceId: 'w' as WorkspaceId, moveId: 'm' }
  arrival = { ...ids, layers: [], bake: null, cancelling: new AbortController(), over: Promise.resolve() }
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function arriving(refuseBelowMib: number | null = 0): Promise<ArrivingFiles> {
  const room = new DiskRoom(root, { warn_below_mib: 0, refuse_below_mib: refuseBelowMib }, silent)
  return new ArrivingFiles({ room, layers: await openLayers(root) }, arrival, root)
}

/** A file with one piece of data. */
function receive(files: ArrivingFiles, file: MovedFile, data: Buffer, at: number): Promise<void> {
  return files.receive(file, (write) => write(data, at))
}

const header = { memory: null, layers: 2, bake: { is_included: false } } as unknown as MoveHeader
const sha256 = '0'.repeat(64)

describe('files that arrive', () => {
  it('are sparse, of their full length, and have names of this host alone', async () => {
    const files = await arriving()
    await files.prepare(header)
    await receive(files, { name: 'layers/1', bytes: 64 * MIB, sha256 }, Buffer.from('data'), 8 * MIB)
    const [, id] = arrival.layers
    expect(files.pathOf('layers/1')).toBe(join(root, 'layers', `${id}.qcow2`))
    const { size, blocks, mode } = await stat(files.pathOf('layers/1'))
    expect([size, mode & 0o777, blocks * 512 <= MIB]).toEqual([64 * MIB, 0o400, true])
    expect((await readFile(files.pathOf('layers/1'))).indexOf('data')).toBe(8 * MIB)
    expect(() => files.pathOf('layers/2')).toThrow('unexpected file')
  })

  it('are refused before the first byte where the disk has too little room', async () => {
    const full = { status: 507, message: expect.any(String) }
    await expect((await arriving()).admit(2 ** 60)).rejects.toMatchObject(full)
    await expect((await arriving(2 ** 30)).admit(1)).rejects.toMatchObject(full)
  })

  it('are refused while they are written if there are more than was said', async () => {
    const files = await arriving()
    await files.prepare(header)
    const late = new ArrivingFiles(
      {
        room: new DiskRoom(root, { warn_below_mib: 0, refuse_below_mib: 2 ** 30 }, silent),
        layers: await openLayers(root),
      },
      arrival,
      root,
    )
    const piece = Buffer.alloc(MIB, 1)
    const writing = late.receive({ name: 'layers/0', bytes: 128 * MIB, sha256 }, async (write) => {
      for (let at = 0; at < 128 * MIB; at += MIB) await write(piece, at)
    })
    await expect(writing).rejects.toMatchObject({ status: 507 })
    expect((await stat(late.pathOf('layers/0'))).size).toBeLessThan(65 * MIB)
  })

  it('end when the import is cancelled', async () => {
    const files = await arriving()
    await files.prepare(header)
    arrival.cancelling.abort(new Error('cancelled'))
    const writing = receive(files, { name: 'layers/0', bytes: 4, sha256 }, Buffer.from('data'), 0)
    await expect(writing).rejects.toThrow('cancelled')
  })

  it('are refused if a small one has another hash', async () => {
    const files = await arriving()
    const writing = receive(files, { name: 'events.jsonl', bytes: 4, sha256 }, Buffer.from('data'), 0)
    await expect(writing).rejects.toThrow('events.jsonl is not what was sent')
    expect(files.small.size).toBe(0)
  })
})
