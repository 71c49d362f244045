import { access } from 'node:fs/promises'
import { promisify } from 'node:util'
import { execFile } from 'node:child_process'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AgentInside } from '../test/agent-inside.ts'
import { eventually } from '../test/agent-process.ts'
import { deleteSandbox } from './delete.ts'
import { hibernateSandbox } from './hibernate.ts'
import { reconcile } from './reconcile.ts'
import type { Sandbox } from './sandbox.ts'

const run = promisify(execFile)
let agent: AgentInside

beforeAll(async () => {
  agent = await AgentInside.start()
})
afterEach(async () => {
  for (const sandbox of agent.host.sandboxes.values()) await deleteSandbox(agent.host, sandbox)
})
afterAll(() => agent.destroy())

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** The next VM of a sandbox does not reach its guest, once. */
function loseNextLink(sandbox: Sandbox): void {
  let { vm } = sandbox
  Object.defineProperty(sandbox, 'vm', {
    configurable: true,
    get: () => vm,
    set: (next: Sandbox['vm']) => {
      vm = next
      if (next === null) return
      Object.defineProperty(sandbox, 'vm', { value: next, writable: true, configurable: true })
      const link = next.link.bind(next)
      next.link = async () => {
        next.link = link
        throw new Error('the guest does not answer')
      }
    },
  })
}

describe('after a wake is committed', () => {
  it('keeps the VM running when the old checkpoint cannot be removed, and removes it later', async () => {
    const { host } = agent
    const sandbox = await agent.created()
    await agent.sh(sandbox, 'echo remembered > /run/memory')
    await hibernateSandbox(host, sandbox)
    const folder = host.dir.hibernation(sandbox.id)
    await run('mount', ['--bind', folder, folder])
    try {
      await run('mount', ['-o', 'remount,bind,ro', folder])
      await host.wake(sandbox)
      expect(await agent.sh(sandbox, 'cat /run/memory')).toBe('remembered')
      expect(await exists(host.dir.vm(sandbox.id))).toBe(true)
      // A reconciliation that cannot remove it either does the rest of its work.
      await reconcile(host)
    } finally {
      // The VM has mapped pages of it.
      await run('umount', ['--lazy', folder])
    }
    await reconcile(host)
    expect(await exists(folder)).toBe(false)
    expect(await agent.sh(sandbox, 'cat /run/memory')).toBe('remembered')
  })

  it('keeps the VM of a guest with a volume that does not answer, and asks it again', async () => {
    const { host } = agent
    const volume = await agent.volume()
    const sandbox = await agent.created({}, [{ volume, isReadOnly: false }])
    await agent.sh(sandbox, 'echo remembered > /run/memory')
    await hibernateSandbox(host, sandbox)
    loseNextLink(sandbox)
    await expect(host.wake(sandbox)).rejects.toThrow('sandbox could not be woken')
    expect(sandbox.manifest.status).toBe('running')
    expect(sandbox.vm?.hasEnded).toBe(false)
    await reconcile(host)
    expect(await agent.sh(sandbox, 'cat /run/memory')).toBe('remembered')
  })

  it('boots a durable guest with a volume from its disk when it does not answer', async () => {
    const { host } = agent
    const volume = await agent.volume()
    const sandbox = await agent.created({ durable: true }, [{ volume, isReadOnly: false }])
    await agent.sh(sandbox, 'echo kept > /root/file; sync')
    await hibernateSandbox(host, sandbox)
    loseNextLink(sandbox)
    await expect(host.wake(sandbox)).rejects.toThrow('sandbox could not be woken')
    await eventually('boot', async () => sandbox.manifest.status === 'running' && sandbox.vm?.hasEnded === false)
    expect(await agent.sh(sandbox, 'cat /root/file')).toBe('kept')
  })
})
