import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { bakeFiles, removeBakesBut } from './bake-files.ts'

let bakes: string
beforeEach(async () => {
  bakes = await mkdtemp(join(tmpdir(), 'offshoot-bakes-'))
  for (const fingerprint of ['kept', 'unused', '.new-unfinished']) {
    const folder = join(bakes, 'base', fingerprint)
    await mkdir(folder, { recursive: true })
    await writeFile(bakeFiles(folder).manifest, '{}')
  }
})
afterEach(() => rm(bakes, { recursive: true }))

it('removes bakes that are not kept, and the log that a killed agent left of an unfinished one', async () => {
  await writeFile(join(bakes, 'base', '.new-unfinished.log'), 'booting')
  await removeBakesBut(bakes, 'base', new Set(['base/kept']))
  expect(await readdir(join(bakes, 'base'))).toEqual(['kept'])
})

it('removes the folder of a template without bakes', async () => {
  await removeBakesBut(bakes, 'base', new Set())
  expect(await readdir(bakes)).toEqual([])
})
