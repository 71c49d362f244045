import { link, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DataDir } from './data-dir.ts'
import { readDiskUsage } from './disk-usage.ts'

const BYTES = 1024 * 1024
let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-disk-'))
})
afterAll(async () => rm(root, { recursive: true }))

describe('disk usage', () => {
  it('counts a file with several names once, in the first folder, and follows no links', async () => {
    const dir = await DataDir.open(root)
    const before = await readDiskUsage(dir)
    await writeFile(join(dir.bakes, 'image'), Buffer.alloc(BYTES, 1))
    await link(join(dir.bakes, 'image'), join(dir.layers, 'same'))
    await symlink('/', join(dir.sandboxes, 'everything'))
    const after = await readDiskUsage(dir)
    expect(after.bakes_bytes - before.bakes_bytes).toBeGreaterThanOrEqual(BYTES)
    expect(after.layers_bytes - before.layers_bytes).toBeLessThan(BYTES)
    expect(after.sandboxes_bytes - before.sandboxes_bytes).toBeLessThan(BYTES)
    expect(after.total_bytes).toBeGreaterThan(after.free_bytes)
  })
})
