import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { replaceProgram, unitPath } from './installation.ts'
import { unitText } from './unit.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-installation-'))
})
afterEach(() => rm(root, { recursive: true }))

const target = () => ({ root, isRootless: false, env: {}, stop: new AbortController().signal })
const unitOf = (program: string) =>
  unitText({ command: [program, '--data-dir', '/d'], variables: { OFFSHOOT_POOL_MIB: '0' }, isRootless: false })

async function write(text: string): Promise<string> {
  const path = unitPath(target())
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}

it('a unit starts another program with the same arguments and variables', async () => {
  const path = await write(unitOf('/releases/$1/bin/up'))
  expect(await replaceProgram(target(), '/releases/$1/bin/up', '/releases/$&/bin/up')).toBe(path)
  expect(await readFile(path, 'utf8')).toBe(unitOf('/releases/$&/bin/up'))
})

it('a unit of another program, one that is not ours, and a missing one stay as they are', async () => {
  expect(await replaceProgram(target(), '/a', '/b')).toBe(null)
  for (const text of [unitOf('/c'), '[Service]\nExecStart=/a --yes\n']) {
    const path = await write(text)
    expect(await replaceProgram(target(), '/a', '/b')).toBe(null)
    expect(await readFile(path, 'utf8')).toBe(text)
  }
})
