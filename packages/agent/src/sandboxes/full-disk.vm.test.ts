import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, open, readdir, realpath, rm, statfs, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentSandbox, AgentSnapshotList } from '@offshoot/contract/agent-api'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runProgram } from '../host/run-program.ts'
import { AgentProcess, eventually } from '../test/agent-process.ts'

/** A file system of its own takes a loop device, which only root can have, and not in every container. */
const canMount = process.getuid?.() === 0 && existsSync('/dev/loop-control')
const FULL = { error: 'insufficient host storage for sandbox' }
const MIB = 1024 * 1024
const DISK_BYTES = 400 * MIB

const run = (program: string, args: string[]) => runProgram(program, args, Deadline.after(10_000, program))

describe.skipIf(!canMount)('on a full disk', () => {
  let folder: string
  let agent: AgentProcess
  let id: string
  const filler = () => join(folder, 'filler')
  const statusOf = async () => (await agent.call<AgentSandbox>('GET', `/v1/sandboxes/${id}`)).body.status
  const image = () => `${folder}.ext4`

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'offshoot-full-')))
    await writeFile(image(), '')
    await truncate(image(), DISK_BYTES)
    await run('mkfs.ext4', ['-q', '-m', '0', image()])
    await run('mount', ['-o', 'loop', image(), folder])
    agent = await AgentProcess.create(folder)
    expect(await agent.run('prepare.ts')).toMatchObject({ exitCode: 0 })
    await agent.start()
    id = (await agent.created()).id
    // More than what is left for it below.
    await agent.sh(id, 'head -c 8000000 /dev/urandom > /run/memory')
  })
  afterAll(async () => {
    await agent.destroy().catch((error: unknown) => {
      // The folder itself is a mount.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    })
    await run('umount', [folder])
    for (const path of [folder, image()]) await rm(path, { recursive: true })
  })

  async function fill(leftBytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(folder)
    await writeFile(filler(), Buffer.alloc(bavail * bsize - leftBytes))
  }

  /** Down to the last block, which the file system gives out only after it has written what it had put off. */
  async function fillWhole(): Promise<void> {
    for (const bytes of [MIB, 4096, 4096]) {
      const file = await open(filler(), 'a')
      try {
        for (;;) {
          await file.write(Buffer.alloc(bytes))
          await file.sync()
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        await file.close()
      }
    }
  }

  it('nothing is captured, the sandbox runs on, and what was begun is gone', async () => {
    const hash = await agent.sh(id, 'md5sum < /run/memory')
    await fill(2 * MIB)
    const child = { id: randomUUID(), index: 0 }
    for (const [what, body] of [
      ['hibernate', undefined],
      ['snapshots', { id: randomUUID() }],
      ['fork', { snapshot_id: randomUUID(), children: [child] }],
    ] as const) {
      const answer = await agent.act<unknown>(id, what, body)
      expect([what, answer.status, answer.body]).toEqual([what, 507, FULL])
      expect(await statusOf()).toBe('running')
      expect(await agent.sh(id, 'md5sum < /run/memory')).toBe(hash)
    }
    const { body } = await agent.call<AgentSnapshotList>('GET', '/v1/snapshots', { workspace: null })
    expect(body.snapshots).toEqual([])
    expect(await readdir(join(agent.dataDir, 'snapshots'))).toEqual([])
    expect(await readdir(join(agent.dataDir, 'sandboxes', id))).not.toContain('hibernation')
    await rm(filler())
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    expect(await agent.sh(id, 'md5sum < /run/memory')).toBe(hash)
    expect(await agent.events(id)).not.toContain('vm.died')
  })

  it('not a byte is needed to delete, whether it runs or is hibernated', async () => {
    const { id: asleep } = await agent.created()
    await agent.act(asleep, 'hibernate')
    await fillWhole()
    for (const each of [asleep, id]) expect((await agent.delete(each)).status).toBe(204)
    expect(await agent.folders()).toEqual([])
    await eventually('no layer', async () => (await agent.layers()).length === 0)
  })
})
