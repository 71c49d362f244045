/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { AgentInside } from '../../test/agent-inside.ts'
import { eventually } from '../../test/agent-process.ts'
import { isPresent } from '../../store/ledger/is-present.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { reconcile } from '../recovery/reconcile.ts'
import { forkSandbox } from '../snapshots/fork.ts'
import { HibernationCompressor } from './compress-hibernated.ts'
import { deleteSandbox } from './delete.ts'
import { hibernateSandbox } from './hibernate.ts'

let agent: AgentInside

beforeAll(async () => {
  agent = await AgentInside.start()
})
afterEach(() => agent.deleteSandboxes())
afterAll(() => agent.destroy())

const pagesOf = async (folder: string, name = 'pages') => (await stat(join(folder, name))).size
const folderOf = ({ id }: Sandbox) => agent.host.store.dir.hibernation(id)
const baseOf = ({ id }: Sandbox) => agent.host.store.dir.memoryBase(id)
const SUM = 'md5sum < /run/memory'

async function readManifestFile({ id }: Sandbox): Promise<{ format?: number }> {
  return JSON.parse(await readFile(join(agent.host.store.dir.sandbox(id), 'manifest.json'), 'utf8')) as {
    format?: number
  }
}

/** A woken sandbox with 8 MiB of memory that does not change. */
async function woken(): Promise<{ sandbox: Sandbox; sum: string; bytes: number }> {
  const sandbox = await agent.created()
  await agent.sh(sandbox, 'head -c 8388608 /dev/urandom > /run/memory')
  const sum = await agent.sh(sandbox, SUM)
  await hibernateSandbox(agent.host, sandbox)
  expect(sandbox.manifest.format).toBeUndefined()
  const bytes = await pagesOf(folderOf(sandbox))
  await agent.host.wake(sandbox)
  return { sandbox, sum, bytes }
}

describe('a second hibernation', () => {
  it('writes only the changed pages, and the sandbox and its children have all memory after each wake', async () => {
    const { host } = agent
    const { sandbox, sum, bytes } = await woken()
    for (const round of [1, 2, 3]) {
      await agent.sh(sandbox, `echo ${round} >> /run/rounds`)
      await hibernateSandbox(host, sandbox)
      expect(await pagesOf(folderOf(sandbox))).toBeLessThan(bytes / 2)
      expect(await pagesOf(folderOf(sandbox), 'base-0.pages')).toBe(bytes)
      await eventually('removal of the base', async () => !(await isPresent(baseOf(sandbox))))
      expect((await readManifestFile(sandbox)).format).toBe(2)
      if (round === 3) break
      expect(await host.wake(sandbox)).toEqual({ isCold: false })
      expect((await readManifestFile(sandbox)).format).toBeUndefined()
      expect(await agent.sh(sandbox, SUM)).toBe(sum)
    }
    const children = [0, 1].map((index) => ({ id: randomUUID(), index }))
    await forkSandbox(host, sandbox, { snapshot_id: randomUUID(), children })
    expect(await host.wake(sandbox)).toEqual({ isCold: false })
    const all = [sandbox, ...children.map(({ id }) => host.sandboxes.get(id as SandboxId))]
    for (const each of all) expect(await agent.sh(each as Sandbox, `${SUM}; cat /run/rounds`)).toBe(`${sum}\n1\n2\n3`)
    await deleteSandbox(host, sandbox)
    const [, child] = all as Sandbox[]
    await hibernateSandbox(host, child as Sandbox)
    expect(await host.wake(child as Sandbox)).toEqual({ isCold: false })
    expect(await agent.sh(child as Sandbox, SUM)).toBe(sum)
  })

  it('keeps its base when it fails, and has no base when that is damaged or the VM has ended', async () => {
    const { host } = agent
    const { sandbox, sum, bytes } = await woken()
    const sealing = vi.spyOn(host.store.checkpoints, 'seal').mockRejectedValueOnce(new Error('no seal'))
    await expect(hibernateSandbox(host, sandbox)).rejects.toThrow('sandbox could not be hibernated')
    sealing.mockRestore()
    expect(await isPresent(folderOf(sandbox))).toBe(false)
    expect(await agent.sh(sandbox, SUM)).toBe(sum)
    await hibernateSandbox(host, sandbox)
    expect(await pagesOf(folderOf(sandbox))).toBeLessThan(bytes / 2)

    await host.wake(sandbox)
    await rm(join(baseOf(sandbox), 'checkpoint.json'))
    await hibernateSandbox(host, sandbox)
    expect(await pagesOf(folderOf(sandbox))).toBeGreaterThan(bytes / 2)
    expect(await isPresent(join(folderOf(sandbox), 'base-0.pages'))).toBe(false)
    expect(await agent.sh(sandbox, SUM)).toBe(sum)

    expect(await isPresent(baseOf(sandbox))).toBe(true)
    process.kill(sandbox.vm?.process.pid ?? 0, 'SIGKILL')
    await eventually('its end', async () => sandbox.manifest.status === 'failed' && !sandbox.transitions.isBusy)
    await reconcile(host)
    expect(await isPresent(baseOf(sandbox))).toBe(false)
  })
})

/** A hibernated sandbox with 8 MiB of memory that compress well. */
async function hibernated(): Promise<Sandbox> {
  const sandbox = await agent.created()
  await agent.sh(sandbox, 'yes memory | head -c 8388608 > /run/memory')
  await hibernateSandbox(agent.host, sandbox)
  return sandbox
}
const sumOf = (sandbox: Sandbox) => agent.sh(sandbox, 'yes memory | head -c 8388608 | cmp - /run/memory && echo same')

describe('compressed memory of a hibernated sandbox', () => {
  let compressor: HibernationCompressor
  beforeAll(() => {
    compressor = new HibernationCompressor(agent.host, 0)
  })
  afterAll(() => compressor.stop())

  /** The compressor skips a sandbox while its last change is still counted as running. */
  async function compress(sandbox: Sandbox): Promise<void> {
    await eventually('compressed memory', async () => {
      await compressor.run()
      return (await readdir(folderOf(sandbox))).some((name) => name.endsWith('.zst'))
    })
  }

  it('occupies less disk space, and is complete after a wake', async () => {
    const { host } = agent
    const sandbox = await hibernated()
    const bytes = await pagesOf(folderOf(sandbox))
    await compress(sandbox)
    expect(await isPresent(join(folderOf(sandbox), 'pages'))).toBe(false)
    expect(await pagesOf(folderOf(sandbox), 'pages.zst')).toBeLessThan(bytes / 2)
    expect((await readManifestFile(sandbox)).format).toBe(2)
    expect(await host.wake(sandbox)).toEqual({ isCold: false })
    expect(await sumOf(sandbox)).toBe('same')
    expect((await readManifestFile(sandbox)).format).toBeUndefined()
    expect(await readdir(baseOf(sandbox))).not.toContain('pages.zst')
    // Over the base that was compressed.
    await hibernateSandbox(host, sandbox)
    await compress(sandbox)
    expect(await readdir(folderOf(sandbox))).toEqual(expect.arrayContaining(['base-0.pages.zst']))
    expect(await host.wake(sandbox)).toEqual({ isCold: false })
    expect(await sumOf(sandbox)).toBe('same')
  })

  it('is complete in a forked child', async () => {
    const sandbox = await hibernated()
    await compress(sandbox)
    const [child] = [{ id: randomUUID(), index: 0 }]
    await forkSandbox(agent.host, sandbox, { snapshot_id: randomUUID(), children: [child] })
    expect(await sumOf(agent.host.sandboxes.get(child.id as SandboxId) as Sandbox)).toBe('same')
  })

  it('stays uncompressed if the sandbox wakes meanwhile', async () => {
    const sandbox = await hibernated()
    const compressing = compressor.run()
    expect(await agent.host.wake(sandbox)).toEqual({ isCold: false })
    await compressing
    expect(await sumOf(sandbox)).toBe('same')
  })

  it('is lost if the file is damaged, and the sandbox boots from its disk', async () => {
    const sandbox = await hibernated()
    await compress(sandbox)
    await truncate(join(folderOf(sandbox), 'pages.zst'), 1000)
    expect(await agent.host.wake(sandbox)).toEqual({ isCold: true })
  })
})
