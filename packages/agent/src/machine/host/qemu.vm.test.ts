import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { Deadline } from '@offshoot/kit/deadline'
import { AgentProcess } from '../../test/agent-process.ts'
import { linkImages } from '../../test/link-images.ts'
import { usedQemu } from '../../test/other-qemu.ts'
import { findQemu } from './qemu.ts'

const imagesDir = process.env['OFFSHOOT_IMAGES_DIR'] ?? ''

describe.skipIf(process.getuid?.() !== 0)('VMs run with QEMU', () => {
  let agent: AgentProcess
  /** Images with another `qemu/`, which is empty at first. */
  let images: string
  beforeEach(async () => {
    images = await mkdtemp(join(tmpdir(), 'offshoot-images-'))
    await linkImages(imagesDir, images, 'qemu')
    await mkdir(join(images, 'qemu'))
    agent = await AgentProcess.create(undefined, { images_dir: images })
  })
  afterEach(async () => {
    await agent.destroy()
    await rm(images, { recursive: true, force: true })
  })

  /** The version of QEMU that runs a new sandbox. */
  async function versionOfNew(): Promise<string | undefined> {
    const { id } = await agent.created()
    expect(await agent.sh(id, 'echo works')).toBe('works')
    const [vm] = await agent.vms()
    const line = (await readFile(`/proc/${vm?.launcher?.pid}/cmdline`, 'utf8')).split('\0')
    return line[line.indexOf('--root') + 1]?.split('/').at(-1)?.split('-')[0]
  }

  async function bringNone(): Promise<void> {
    await rm(join(images, 'qemu'), { recursive: true })
    await mkdir(join(images, 'qemu'))
  }
  async function bringOne(): Promise<void> {
    await rm(join(images, 'qemu'), { recursive: true })
    await symlink(join(imagesDir, 'qemu'), join(images, 'qemu'))
  }

  it('of the images', { tags: ['faults'] }, async () => {
    await bringOne()
    await agent.start()
    expect(await versionOfNew()).toBe((await usedQemu()).version)
  })

  it.each([
    ['an upgrade to images that bring a newer one', bringNone, bringOne],
    ['a rollback to images that bring none', bringOne, bringNone],
  ])('that saved their memory, also after %s', { tags: ['long'] }, async (_what, before, after) => {
    await before()
    await agent.start()
    const { id } = await agent.created()
    await agent.sh(id, 'echo remembered > /dev/shm/memory')
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    await agent.stop()
    await after()
    await agent.start()
    const woken = await agent.act<AgentSandbox & { cold?: true }>(id, 'wake')
    expect([woken.status, woken.body.cold]).toEqual([200, undefined])
    expect(await agent.sh(id, 'cat /dev/shm/memory')).toBe('remembered')
  })

  it.each([
    ['the images bring none', bringNone, false],
    [
      'the one of the images does not start',
      async () => {
        const folder = join(images, 'qemu/usr/bin')
        await mkdir(folder, { recursive: true })
        await writeFile(join(folder, 'qemu-system-x86_64'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
      },
      true,
    ],
  ])('of the host if %s', { tags: ['long'] }, async (_when, put, isReported) => {
    await put()
    await agent.start()
    expect(agent.log.includes("VMs run with the host's own QEMU")).toBe(isReported)
    expect(await versionOfNew()).toBe((await findQemu(Deadline.after(10_000, 'version of QEMU'))).version)
  })
})
