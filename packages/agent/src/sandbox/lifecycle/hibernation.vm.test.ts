import { randomUUID } from 'node:crypto'
import { access, open, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { execFile } from 'node:child_process'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { type ProcessIdentity, signalProcess } from '@offshoot/kit/process-identity'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { AgentInside } from '../../test/agent-inside.ts'
import { eventually } from '../../test/agent-process.ts'
import { Vm } from '../../machine/vm/vm.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { checkpointOrigin } from '../model/capture-options.ts'
import { forkSandbox } from '../snapshots/fork.ts'
import { hibernateSandbox } from './hibernate.ts'
import { reconcile } from '../recovery/reconcile.ts'
import type { Sandbox } from '../model/sandbox.ts'

const run = promisify(execFile)
let agent: AgentInside

beforeAll(async () => {
  agent = await AgentInside.start()
})
afterEach(() => agent.deleteSandboxes())
afterAll(() => agent.destroy())

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** The sandbox's next VM fails to connect to its guest, once. */
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

/** Writes a checkpoint as another host would have, which this host cannot restore. */
async function sealForAnotherMachine({ host }: AgentInside, sandbox: Sandbox): Promise<void> {
  const folder = host.store.dir.hibernation(sandbox.id)
  const captured = {
    folder,
    layers: sandbox.manifest.layers,
    qemuVersion: host.platform.qemus.current.version,
    memoryBytes: 0,
    bases: 0,
    pausedMs: 0,
  }
  const machine = { ...host.platform.machines.of(sandbox.manifest), vcpus: 7 }
  await host.store.checkpoints.seal(captured, checkpointOrigin(sandbox), machine, Deadline.after(60_000, 'seal'))
}

async function flipByte(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    const byte = Buffer.alloc(1)
    await file.read(byte, 0, 1, 4096)
    await file.write(Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, 4096)
  } finally {
    await file.close()
  }
}

async function lastEvent(sandbox: Sandbox) {
  return (await sandbox.events.snapshot(0)).findLast(({ event }) => event.type !== 'sandbox.ssh_ready')?.event
}

/** A hibernated sandbox with a file on its disk and a file in memory. */
async function hibernated(): Promise<Sandbox> {
  const sandbox = await agent.created()
  await agent.sh(sandbox, 'echo remembered > /run/memory; echo kept > /root/file; sync')
  await hibernateSandbox(agent.host, sandbox)
  return sandbox
}

describe('a checkpoint that cannot be restored', () => {
  it.each<readonly [string, string, (sandbox: Sandbox) => Promise<void>]>([
    ['of another machine', 'another machine', async (sandbox) => sealForAnotherMachine(agent, sandbox)],
    [
      'with a truncated file of pages',
      'pages was changed',
      async ({ id }) => truncate(join(agent.host.store.dir.hibernation(id), 'pages'), 8192),
    ],
    [
      'without its record',
      'no complete checkpoint',
      async ({ id }) => rm(join(agent.host.store.dir.hibernation(id), 'checkpoint.json')),
    ],
  ])(
    '%s makes the sandbox boot from its disk, with the reason in the event',
    { tags: ['long'] },
    async (_what, reason, spoil) => {
      const sandbox = await hibernated()
      await spoil(sandbox)
      expect(await agent.host.wake(sandbox)).toEqual({ isCold: true })
      expect(await agent.sh(sandbox, 'cat /root/file; test ! -e /run/memory && echo lost')).toBe('kept\nlost')
      const event = await lastEvent(sandbox)
      expect(event).toMatchObject({ type: 'sandbox.woken', metadata: { cold: true } })
      expect(event?.message).toContain('what was in memory is lost')
      expect(event?.message).toContain(reason)
    },
  )

  it('is refused with the reason if the disk is damaged as well, and stays unchanged', async () => {
    const sandbox = await hibernated()
    const layer = agent.host.store.layers.path(sandbox.manifest.layers.at(-1) as LayerId)
    await flipByte(layer)
    await expect(agent.host.wake(sandbox)).rejects.toMatchObject({
      body: { error: 'sandbox could not be woken', detail: expect.stringContaining('layer') },
    })
    await reconcile(agent.host)
    expect(sandbox.manifest.status).toBe('hibernated')
    await flipByte(layer)
    expect(await agent.host.wake(sandbox)).toEqual({ isCold: false })
    expect(await agent.sh(sandbox, 'cat /run/memory /root/file')).toBe('remembered\nkept')
    expect((await lastEvent(sandbox))?.metadata).not.toHaveProperty('cold')
  })
})

describe('a hibernation in progress', () => {
  it('does not delay a fork while it copies memory', async () => {
    const { host } = agent
    const [large, small] = [await agent.created(), await agent.created()]
    const copying = Promise.withResolvers<void>()
    const deadline = Deadline.after(60_000, 'test')
    const occupied = host.platform.captureThreads.savingToEnd.use(() => copying.promise, deadline)
    const hibernating = [large, await agent.created(), await agent.created()].map((each) =>
      hibernateSandbox(host, each),
    )
    const child = { id: randomUUID(), index: 0 }
    const { children } = await forkSandbox(host, small, { snapshot_id: randomUUID(), children: [child] })
    expect(children).toMatchObject([{ status: 'running' }])
    expect(large.manifest.status).toBe('running')
    copying.resolve()
    await Promise.all([occupied, ...hibernating])
    expect(large.manifest.status).toBe('hibernated')
  })
})

describe('the slot of a hibernated sandbox', () => {
  it('is the same after a wake, or another one if a second sandbox has taken it', async () => {
    const { host } = agent
    const sandbox = await hibernated()
    const { home_slot: home = -1, guest_ip: address } = sandbox.manifest
    await host.wake(sandbox)
    expect(sandbox.manifest).toMatchObject({ slot: home, guest_ip: address })
    await hibernateSandbox(host, sandbox)
    host.platform.slots.releaseParked(home, sandbox.id)
    await eventually('the slot', async () => host.platform.slots.reserve(home))
    try {
      await host.wake(sandbox)
      expect(sandbox.manifest.slot).not.toBe(home)
      expect(await agent.sh(sandbox, 'cat /run/memory')).toBe('remembered')
    } finally {
      host.platform.slots.release(home)
    }
  })

  it('stays reserved if a wake fails', async () => {
    const { host } = agent
    const sandbox = await hibernated()
    const { home_slot: home } = sandbox.manifest
    const layer = host.store.layers.path(sandbox.manifest.layers.at(-1) as LayerId)
    await flipByte(layer)
    await expect(host.wake(sandbox)).rejects.toThrow('sandbox could not be woken')
    expect(sandbox.manifest).toMatchObject({ slot: -1, home_slot: home })
    await flipByte(layer)
    await host.wake(sandbox)
    expect(sandbox.manifest.slot).toBe(home)
  })
})

describe('a checkpoint of a host whose TSC frequency was measured again', () => {
  it('is restored, and its guest has the correct time', async () => {
    const { host } = agent
    const sandbox = await hibernated()
    const { accelerator, tscKhz, network } = host.platform.machines.of(sandbox.manifest)
    host.platform.machines.choose({ accelerator, tscKhz: Math.round(tscKhz * 1.0009), network }, null)
    try {
      expect(await host.wake(sandbox)).toEqual({ isCold: false })
      expect(await agent.sh(sandbox, 'cat /run/memory')).toBe('remembered')
      const seconds = Number(await agent.sh(sandbox, 'date +%s'))
      expect(Math.abs(seconds - Date.now() / 1000)).toBeLessThan(5)
    } finally {
      host.platform.machines.choose({ accelerator, tscKhz, network }, null)
    }
  })
})

describe('after a wake is committed', () => {
  it('keeps the VM running when the old checkpoint cannot be removed, and removes it later', async () => {
    const { host } = agent
    const sandbox = await agent.created()
    await agent.sh(sandbox, 'echo remembered > /run/memory')
    await hibernateSandbox(host, sandbox)
    const folder = host.store.dir.hibernation(sandbox.id)
    await run('mount', ['--bind', folder, folder])
    try {
      await run('mount', ['-o', 'remount,bind,ro', folder])
      await host.wake(sandbox)
      expect(await agent.sh(sandbox, 'cat /run/memory')).toBe('remembered')
      expect(await exists(host.store.dir.vm(sandbox.id))).toBe(true)
      // A reconciliation that cannot remove it either completes its other work.
      await reconcile(host)
    } finally {
      // The VM has mapped its pages.
      await run('umount', ['--lazy', folder])
    }
    await reconcile(host)
    expect(await exists(folder)).toBe(false)
    expect(await agent.sh(sandbox, 'cat /run/memory')).toBe('remembered')
  })

  it('keeps the VM if a guest with a volume does not answer, and asks it again', async () => {
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

  it('boots a durable guest with a volume from its disk if it does not answer', { tags: ['faults'] }, async () => {
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

async function stallAfter(begun: Promise<void>, qemu: ProcessIdentity, stalledMs: number): Promise<void> {
  await begun
  process.kill(qemu.pid, 'SIGSTOP')
  await delay(stalledMs)
  signalProcess(qemu, 'SIGCONT')
}

/** Stops the QEMU of a VM other than `parent`'s for a while, after its guest has begun to take its identity. */
function stallGuestsBeside(parent: Sandbox, stalledMs: number) {
  // oxlint-disable-next-line typescript/unbound-method -- called with the VM below
  const { link } = Vm.prototype
  return vi.spyOn(Vm.prototype, 'link').mockImplementation(async function (this: Vm, deadline) {
    const opened = await link.call(this, deadline)
    if (this === parent.vm) return opened
    const refresh = opened.refresh.bind(opened)
    opened.refresh = (...asked) => {
      const progress = refresh(...asked)
      void stallAfter(progress.begun, this.process, stalledMs)
      return progress
    }
    return opened
  })
}

it('keeps the child of a fork whose guest is slow to complete its identity', { tags: ['faults'] }, async () => {
  const parent = await agent.created()
  const stall = stallGuestsBeside(parent, 3500)
  const { children } = await forkSandbox(agent.host, parent, {
    snapshot_id: randomUUID(),
    children: [{ id: randomUUID(), index: 0 }],
  })
  const child = agent.host.sandboxes.get(children[0]?.id as SandboxId)
  if (child === undefined) throw new Error('there is no child')
  expect(await agent.sh(child, 'hostname')).toBe(`sbx-${child.id.slice(0, 8)}`)
  stall.mockRestore()
})
