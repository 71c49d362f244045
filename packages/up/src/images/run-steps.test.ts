import { execFileSync } from 'node:child_process'
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SetupFailure } from '../base/setup-failure.ts'
import { isAnyMissing, runSteps } from './run-steps.ts'
import type { Step } from './step.ts'

let images: string
let ran: string[]
const silent = { started: () => undefined, reported: () => undefined, finished: () => undefined }
const never = new AbortController().signal

beforeEach(async () => {
  images = await mkdtemp(join(tmpdir(), 'offshoot-steps-'))
  ran = []
})
afterEach(() => rm(images, { recursive: true }))

/** A step that writes its input to a file of its name. */
function step(name: string, input: string, after: readonly string[] = [], spoil?: () => void): Step {
  return {
    name,
    title: name,
    after,
    outputs: [name],
    maxSeconds: 20,
    inputsHash: async () => input,
    run: async (work) => {
      ran.push(name)
      await writeFile(join(work.folder, name), input)
      spoil?.()
    },
  }
}

function fail(): never {
  throw new Error('no luck')
}

const run = (...steps: Step[]) => runSteps(steps, images, never, silent)
const output = (name: string) => readFile(join(images, name), 'utf8')

describe('runSteps', () => {
  it('runs each once while nothing changes', async () => {
    await run(step('a', '1'), step('b', '1', ['a']))
    await run(step('a', '1'), step('b', '1', ['a']))
    expect(ran).toEqual(['a', 'b'])
    expect(await isAnyMissing([step('a', '1')], images)).toBe(false)
    expect(await isAnyMissing([step('c', '1')], images)).toBe(true)
  })

  it('runs a step again when its input changes, and those after it', async () => {
    await run(step('a', '1'), step('b', '1', ['a']), step('c', '1'))
    ran = []
    await run(step('a', '2'), step('b', '1', ['a']), step('c', '1'))
    expect(ran).toEqual(['a', 'b'])
    expect(await output('a')).toBe('2')
  })

  it('runs a step again when its output is gone', async () => {
    await run(step('a', '1'))
    await rm(join(images, 'a'))
    await run(step('a', '1'))
    expect(ran).toEqual(['a', 'a'])
  })

  it('leaves the old output and nothing else when a step fails', async () => {
    await run(step('a', '1'))
    const failed = run(step('a', '2', [], fail), step('b', '1', ['a']))
    await expect(failed).rejects.toThrow(new SetupFailure('The a could not be made: no luck'))
    expect(await output('a')).toBe('1')
    await expect(access(join(images, 'b'))).rejects.toThrow('ENOENT')
    expect((await readdir(images)).sort()).toEqual(['.stamps', 'a'])
  })

  it('makes again what was renamed into place but not stamped, as a run killed between the two leaves it', async () => {
    await run(step('a', '1'))
    await rm(join(images, '.stamps/a'))
    await run(step('a', '1'))
    expect(ran).toEqual(['a', 'a'])
  })

  it('removes what a killed run left of its work', async () => {
    await mkdir(join(images, '.building/a-123'), { recursive: true })
    await writeFile(join(images, '.building/a-123/a'), 'half')
    await run(step('a', '1'))
    expect((await readdir(images)).sort()).toEqual(['.stamps', 'a'])
    expect(await output('a')).toBe('1')
  })

  it('does not begin when it is cancelled', async () => {
    const cancelled = runSteps([step('a', '1')], images, AbortSignal.abort(new Error('enough')), silent)
    await expect(cancelled).rejects.toThrow('enough')
    expect(ran).toEqual([])
  })

  it.skipIf(process.getuid?.() !== 0)('removes nothing through a mount of a build that was killed', async () => {
    const elsewhere = join(images, 'elsewhere')
    const mounted = join(images, '.building/template 1/root')
    for (const folder of [elsewhere, mounted]) await mkdir(folder, { recursive: true })
    await writeFile(join(elsewhere, 'kept'), 'whole')
    execFileSync('mount', ['--bind', elsewhere, mounted])
    await run(step('a', '1'))
    expect(await readFile(join(elsewhere, 'kept'), 'utf8')).toBe('whole')
    expect(await readdir(join(images, '.building')).catch(() => [])).toEqual([])
    await rm(elsewhere, { recursive: true })
  })
})
