import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sealFile } from '../../store/checkpoints/seal-file.ts'
import { durableSeal } from './durable-seal.ts'
import { Thread } from './thread.ts'

const run = promisify(execFile)
const SOURCE = join(import.meta.dirname, '../../../native/write-out.c')
const MIB = 1024 * 1024
const deadline = Deadline.after(60_000, 'test')

let folder: string
let program: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-durable-seal-'))
  program = join(folder, 'write-out')
  await run('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-o', program, SOURCE])
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function makeFile(name: string, bytes: number): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, Buffer.alloc(bytes, name))
  return path
}

/** A program that notes when it begins and ends, and then fails. */
async function failingProgram(): Promise<{ readonly path: string; readonly noted: string }> {
  const [path, noted] = [join(folder, 'failing'), join(folder, 'noted')]
  const note = (word: string) => `echo "${word} $(basename "$1")" >> ${noted}`
  await writeFile(path, `#!/bin/sh\n${note('begin')}\nsleep 0.1\n${note('end')}\nexit 1\n`)
  await chmod(path, 0o755)
  return { path, noted }
}

describe('the program that writes a file out', () => {
  it('takes files of any size', async () => {
    const silent = { stdout: '', stderr: '' }
    for (const bytes of [0, 1, MIB, 3 * MIB + 5])
      expect(await run(program, [await makeFile('any', bytes)])).toEqual(silent)
    await truncate(join(folder, 'any'), 100 * MIB)
    expect(await run(program, [join(folder, 'any')])).toEqual(silent)
  })

  it('refuses anything else', async () => {
    await expect(run(program, [join(folder, 'missing')])).rejects.toMatchObject({ code: 1 })
    await expect(run(program, ['/dev/null/file'])).rejects.toMatchObject({ code: 1 })
    await expect(run(program, [])).rejects.toMatchObject({ code: 2 })
  })
})

describe('a durable seal', () => {
  it('is that of the file, large or small, durable or not', async () => {
    const seal = durableSeal(new Thread(), program)
    for (const bytes of [5, 9 * MIB]) {
      const path = await makeFile('sealed', bytes)
      for (const isDurable of [true, false])
        expect(await seal({ path, isDurable }, deadline)).toEqual(sealFile({ path }))
    }
  })

  it('lets large files be written out one at a time, and is made even if that fails', async () => {
    const { path: failing, noted } = await failingProgram()
    const seal = durableSeal(new Thread(), failing)
    const paths = await Promise.all(['a', 'b', 'c'].map((name) => makeFile(name, 9 * MIB)))
    paths.push(await makeFile('small', MIB))
    const seals = await Promise.all(paths.map((path) => seal({ path, isDurable: true }, deadline)))
    expect(seals).toEqual(paths.map((path) => sealFile({ path })))
    const lines = (await readFile(noted, 'utf8')).trim().split('\n')
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['begin', 'end', 'begin', 'end', 'begin', 'end'])
    expect(lines.join()).not.toContain('small')
  })

  it('tells of a file that is missing', async () => {
    const seal = durableSeal(new Thread(), program)
    const asked = { path: join(folder, 'missing'), isDurable: true }
    await expect(seal(asked, deadline)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
