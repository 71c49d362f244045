import { watch } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { MANIFEST, writeRunningManifest, type Manifest } from './manifest.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-manifest-'))
})
afterEach(() => rm(folder, { recursive: true }))

it.each([
  ['waits for the disk where the disk of the sandbox outlives its VM', true, `${MANIFEST}.${process.pid}.new`],
  ['does not wait for the disk elsewhere', false, `${MANIFEST}.new`],
])('the manifest of a running sandbox %s', async (_what, durable, writtenBeside) => {
  const seen = new Set<string | null>()
  const watcher = watch(folder, (_event, name) => seen.add(name))
  try {
    await writeRunningManifest(folder, { durable } as Manifest)
    // The names under which the two ways write beside the file tell which was taken.
    await expect.poll(() => [...seen]).toContain(writtenBeside)
    expect([...seen].filter((name) => name !== MANIFEST)).toEqual([writtenBeside])
  } finally {
    watcher.close()
  }
})
