import { link, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { validateLayer } from './validate-layer.ts'
import { createLayer } from './qcow2.ts'

let folder: string
let layer: string
const below = { path: 'rootfs.ext4', format: 'raw' } as const
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-judge-'))
  layer = join(folder, 'layer')
  await createLayer(layer, { ...below, bytes: 1024 * 1024 }, Deadline.after(30_000, 'test'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A copy of the valid layer with changed bytes. */
async function changed(name: string, change: (bytes: Buffer) => void): Promise<string> {
  const bytes = await readFile(layer)
  change(bytes)
  await writeFile(join(folder, name), bytes)
  return join(folder, name)
}

it('accepts a layer as it was created, and only with its own backing file', async () => {
  await validateLayer(layer, below)
  await expect(validateLayer(layer, { path: 'other', format: 'raw' })).rejects.toThrow('lies over')
  await expect(validateLayer(layer, { path: 'rootfs.ext4', format: 'qcow2' })).rejects.toThrow('lies over')
})

it.each<[string, (bytes: Buffer) => void, string]>([
  ['another backing file', (bytes) => bytes.write('/etc/shadow', bytes.indexOf('rootfs.ext4')), 'lies over'],
  [
    'no backing format, so that QEMU would probe it',
    (bytes) => bytes.writeUInt32BE(1, bytes.readUInt32BE(100)),
    'lies over',
  ],
  ['an external data file', (bytes) => bytes.writeBigUInt64BE(4n, 72), 'features'],
  ['encryption', (bytes) => bytes.writeUInt32BE(1, 32), 'features'],
  ['another version', (bytes) => bytes.writeUInt32BE(2, 4), 'head'],
  ['another magic', (bytes) => bytes.write('RAW!'), 'head'],
  ['a name beyond the end of the header', (bytes) => bytes.writeBigUInt64BE(2n ** 40n, 8), 'lies over'],
])('refuses %s', async (_what, change, sentence) => {
  const path = await changed('changed', change)
  await expect(validateLayer(path, below)).rejects.toThrow(sentence)
})

it('refuses links and truncated files', async () => {
  await symlink(layer, join(folder, 'symbolic'))
  await expect(validateLayer(join(folder, 'symbolic'), below)).rejects.toThrow('cannot be opened')
  await writeFile(join(folder, 'short'), 'QFI')
  await expect(validateLayer(join(folder, 'short'), below)).rejects.toThrow('head')
  await link(layer, join(folder, 'hard'))
  await expect(validateLayer(layer, below)).rejects.toThrow('no file of its own')
})
