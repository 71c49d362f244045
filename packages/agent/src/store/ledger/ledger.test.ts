import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Ledger } from './ledger.ts'

let root: string
let ledger: Ledger
const place = (name: string) => join(root, name)

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ledger-'))
  for (const name of ['trash', 'quarantine', 'object']) await mkdir(place(name))
  await writeFile(join(place('object'), 'data'), 'data')
  const folders = { root, trash: place('trash'), quarantine: place('quarantine') }
  ledger = await Ledger.open(folders, pino({ level: 'silent' }), { findLayers: async () => null })
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe('a discarded object', () => {
  it.each(['discard', 'discardInBackground'] as const)('has left its place, and its files go: %s', async (discard) => {
    await ledger[discard]('sandbox', place('object'), 'test')
    expect(await readdir(root)).not.toContain('object')
    await vi.waitFor(async () => expect(await readdir(place('trash'))).toEqual([]), { timeout: 10_000 })
  })

  it.each(['discard', 'discardInBackground'] as const)('may have gone already: %s', async (discard) => {
    await rm(place('object'), { recursive: true })
    await expect(ledger[discard]('sandbox', place('object'), 'test')).resolves.toBeUndefined()
  })

  it('has no files after the next start, even if the agent died before it deleted them', async () => {
    await mkdir(join(place('trash'), 'object'))
    await writeFile(join(place('trash'), 'object', 'data'), 'data')
    await Promise.all([ledger.emptyTrash(), ledger.discardInBackground('sandbox', place('object'), 'test')])
    await vi.waitFor(async () => expect(await readdir(place('trash'))).toEqual([]), { timeout: 10_000 })
  })
})
