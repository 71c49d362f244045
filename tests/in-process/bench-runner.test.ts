import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identifyProcess } from '@offshoot/kit/process-identity'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runInChild, type RunOptions } from '../../bench/run-in-child.ts'
import { benches } from '../setup/fake-benches.ts'
import { until } from '../setup/until.ts'

const LONG_MS = 30_000
const module = join(import.meta.dirname, '../setup/fake-benches.ts')

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'offshoot-bench-runner-'))
  await writeFile(join(dataDir, 'credentials.json'), '{}')
})
afterEach(async () => rm(dataDir, { recursive: true }))

async function run(name: string, options: Partial<RunOptions> = {}) {
  const bench = benches.find(({ names }) => names[0] === name)
  if (bench === undefined) throw new Error(`no bench ${name}`)
  const stop = new AbortController().signal
  return runInChild(bench, dataDir, { module, withinMs: LONG_MS, roundsMs: null, stop, ...options })
}

const pidOfChild = async () => Number(await readFile(join(dataDir, 'child.pid'), 'utf8'))
const childGone = async () =>
  until('the end of the child', async () => (await identifyProcess(await pidOfChild())) === null, LONG_MS)

it('gives the figures of a bench', async () => {
  expect(await run('good')).toEqual({ good: expect.objectContaining({ unit: 'ms', n: 3, p50: 1, p95: 2, success: 1 }) })
})

it('shortens the rounds of a full run', async () => {
  expect(await run('one_round', { roundsMs: 0 })).toEqual({ one_round: expect.objectContaining({ n: 1, p50: 1 }) })
})

it('takes no figures for a bench that leaves itself out', async () => {
  expect(await run('left_out')).toEqual({})
})

it.each([
  ['throws', 'the disk is full'],
  ['no_figure', 'no attempt succeeded: no_figure, second'],
  ['exits', 'its process ended with 3 and no figures'],
])('says why the bench that %s has no figures', async (name, reason) => {
  await expect(run(name)).rejects.toThrow(reason)
})

it('stops a bench that hangs, which releases what it holds, and kills its children', async () => {
  const stop = new AbortController()
  const hung = run('hangs', { stop: stop.signal })
  hung.catch(() => undefined)
  await until('the child', async () => existsSync(join(dataDir, 'child.pid')), LONG_MS)
  stop.abort()
  await expect(hung).rejects.toThrow('stopped')
  expect((await readdir(dataDir)).toSorted()).toEqual(['child.pid', 'credentials.json', 'released'])
  await childGone()
})

it('says that a bench which hangs was not done in time', async () => {
  await expect(run('hangs', { withinMs: 1 })).rejects.toThrow('hung: not done after 0 s')
})

it('kills a bench that blocks its process, with its children', async () => {
  const stop = new AbortController()
  const blocked = run('blocks', { stop: stop.signal, releaseMs: 1 })
  blocked.catch(() => undefined)
  await until('the child', async () => existsSync(join(dataDir, 'child.pid')), LONG_MS)
  stop.abort()
  await expect(blocked).rejects.toThrow('stopped')
  await childGone()
})
