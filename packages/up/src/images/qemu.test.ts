import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Deadline } from '@offshoot/kit/deadline'
import { hostRelease } from './debian-mirror.ts'
import { qemuStep } from './qemu.ts'

const FETCHED = 'usr/bin/qemu-system-x86_64'

let folder: string
let reported: string[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-qemu-step-'))
  for (const name of ['bin', 'work', 'images']) await mkdir(join(folder, name))
  await put('apt-get', `echo 'Debian|http://m/debian/|${await hostRelease()}|main'`)
  await put('mmdebstrap', 'echo no route to the mirror >&2; exit 1')
  vi.stubEnv('PATH', [join(folder, 'bin'), process.env['PATH']].join(delimiter))
  reported = []
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

/** Puts a script in the place of a program of the host. */
async function put(program: string, script: string): Promise<void> {
  await writeFile(join(folder, 'bin', program), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
}

/** @returns the folder that the step made */
async function run(hostsVersion: string): Promise<string> {
  await put('dpkg-query', `printf '%s' '${hostsVersion}'`)
  const work = { folder: join(folder, 'work'), imagesDir: join(folder, 'images') }
  const deadline = Deadline.after(10_000, 'test')
  await qemuStep().run({ ...work, deadline, report: (what) => void reported.push(what) })
  return join(work.folder, 'qemu')
}

it('is not fetched where the host has version 10 already', async () => {
  expect(await readdir(await run('1:10.0.2+ds-2'))).toEqual([])
  expect(reported).toEqual([])
})

it('is missing, and why is said, if no mirror has it', async () => {
  expect(await readdir(await run('1:7.2+dfsg-7'))).toEqual([])
  expect(reported.at(-1)).toContain('no route to the mirror')
})

it('stays as it was fetched earlier if the mirror cannot be reached', async () => {
  await mkdir(join(folder, 'images/qemu/usr/bin'), { recursive: true })
  await writeFile(join(folder, 'images/qemu', FETCHED), 'fetched earlier')
  expect(await readFile(join(await run('1:7.2+dfsg-7'), FETCHED), 'utf8')).toBe('fetched earlier')
})
