/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { busyboxRoot } from '../../test/busybox-root.ts'
import { canMountDisk, SmallDisk } from '../../test/small-disk.ts'
import { tarArchive } from '../../test/tar-archive.ts'
import { TemplateBuilder } from '../../test/template-builder.ts'

const MIB = 1024 * 1024
/** More than builds leave free (`take-upload.ts`). The image is sparse. */
const DISK_BYTES = 4096 * MIB
/** Writes more than the full disk has left. */
const WRITE = 'busybox dd if=/dev/urandom of=/big bs=1M count=24 conv=fsync'

describe.skipIf(!canMountDisk)('on a disk that fills while a template is built', () => {
  let folder: string
  let disk: SmallDisk
  let agent: AgentProcess
  let builder: TemplateBuilder

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'offshoot-full-build-')))
    disk = await SmallDisk.mount(folder, DISK_BYTES)
    agent = await AgentProcess.create(folder)
    builder = new TemplateBuilder(agent)
    await agent.prepare()
    await agent.start()
  })
  afterAll(async () => {
    await agent.destroy().catch((error: unknown) => {
      // The folder is a mount point, which cannot be removed.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    })
    await disk.unmount()
    await rm(folder, { recursive: true })
  })

  it('the build fails with its stage and leaves nothing behind, sandboxes keep running, and the next build succeeds', async () => {
    const { id: sandbox } = await agent.created()
    const rootfs = tarArchive([...(await busyboxRoot())])
    const id = await builder.upload(rootfs)
    // The start command writes after the test has filled the disk.
    expect(await builder.begin(id, { start_cmd: `busybox sleep 2; ${WRITE}`, ready_cmd: 'false' })).toMatchObject({
      status: 202,
    })
    await eventually('a boot', async () => (await builder.get(id)).percent >= 70)
    await disk.fill(4 * MIB)
    const build = await builder.untilEnded(id)
    expect(build).toMatchObject({ status: 'failed', template: null })
    expect(build.error).toBe('booting: the host has no room left for it')
    await eventually('its files gone', async () => {
      const left = await readdir(join(agent.dataDir, 'builds', id))
      return left.toSorted().join() === 'build.json,log.jsonl'
    })
    expect(await readdir(join(agent.dataDir, 'bakes'))).not.toContain(id)
    expect(await agent.sh(sandbox, 'echo goes on')).toBe('goes on')
    // The agent refuses new builds for lack of space.
    const body = { id: randomUUID(), name: 'mine', memory: false }
    expect(await agent.call('POST', `/v1/sandboxes/${sandbox}/template`, { body })).toMatchObject({ status: 507 })
    await disk.empty()
    expect(await builder.ended(rootfs)).toMatchObject({ status: 'done', error: null })
    await agent.delete(sandbox)
  })
})
