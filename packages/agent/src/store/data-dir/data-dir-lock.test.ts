import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataDirInUse, DataDirLock } from './data-dir-lock.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

it('lets one in, under whatever name it knows the folder, and the next when it is released', async () => {
  const lock = await DataDirLock.acquire(folder, Deadline.after(0, 'lock'))
  await symlink(folder, join(folder, 'same'))
  const again = DataDirLock.acquire(join(folder, 'same'), Deadline.after(0, 'lock'))
  await expect(again).rejects.toThrow(DataDirInUse)
  const waiting = DataDirLock.acquire(folder, Deadline.after(10_000, 'lock'))
  await lock.release()
  await (await waiting).release()
})
