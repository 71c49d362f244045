/** @module-tag long */
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MemoryImage } from '../../machine/capture/memory-image.ts'
import { JAIL_BAKE } from '../../machine/host/jail.ts'
import { ownSocket } from '../../machine/vm/channel.ts'
import { QMP_SOCKET } from '../../machine/vm/machine.ts'
import { uptimeMs } from '../../store/lease/host-lease.ts'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { imagesWithDurable } from '../../test/durable-images.ts'
import { LeaseGiver } from '../../test/lease-giver.ts'
import { isStopped } from '../../test/process-state.ts'
import { ZygoteCopies } from '../../test/zygote-copies.ts'

/** Seconds of a lease that does not end during a test, and of one that does. */
const LONG = 600
const SHORT = 4

const deadline = () => Deadline.after(30_000, 'a step of a test')

describe.runIf(process.getuid?.() === 0)('a copy of a durable zygote', () => {
  let images: string
  let agent: AgentProcess
  let leases: LeaseGiver
  let zygotes: ZygoteCopies

  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'offshoot-images-'))
    const imagesDir = await imagesWithDurable(process.env['OFFSHOOT_IMAGES_DIR'] ?? '', images)
    const options = { images_dir: imagesDir, templates: ['durable'], leases: true, pool_memory_mib: 1024 }
    agent = await AgentProcess.create(undefined, options)
    await agent.prepare()
    leases = new LeaseGiver(agent)
    zygotes = new ZygoteCopies(agent, 'durable')
    await agent.start()
    await leases.renew(LONG)
    await zygotes.make()
  })
  afterAll(async () => {
    await agent.destroy()
    await rm(images, { recursive: true, force: true })
  })

  it('writes to the disk of the host when its guest flushes, in each of its layers', async () => {
    const sandbox = await zygotes.taken()
    await agent.sh(sandbox.id, 'echo kept > /root/file; sync')
    const layers = (await blockNodes(zygotes.folderOf(sandbox))).filter(({ drv }) => drv === 'qcow2')
    const written = layers.filter(({ file }) => !file.startsWith(JAIL_BAKE))
    expect(written.map(({ cache }) => cache['no-flush'])).toEqual([false, false, false])
  })

  it('makes images of its memory, so that it need not stand still while it is copied', async () => {
    const sandbox = await zygotes.taken()
    const vm = await zygotes.processOf(sandbox)
    expect((await agent.act(sandbox.id, 'pause')).status).toBe(200)
    const socket = (name: string) => ownSocket(zygotes.folderOf(sandbox), name, true)
    const image = await MemoryImage.take({ process: vm.process, socket }, deadline())
    expect(image).not.toBeNull()
    image?.close()
    expect((await agent.act(sandbox.id, 'resume')).status).toBe(200)
    await agent.sh(sandbox.id, 'echo kept > /run/memory')
    const [child] = (await agent.forked(sandbox.id)).children
    expect(await agent.sh(child?.id ?? '', 'cat /run/memory')).toBe('kept')
    expect(await zygotes.isContinued({ id: child?.id ?? '' })).toBe(true)
  })

  it('continues a sandbox that wakes, with flushes, images of its memory and the lease of its host', async () => {
    const sandbox = await zygotes.taken()
    await agent.sh(sandbox.id, 'echo kept > /root/file; echo kept > /run/memory')
    expect((await agent.act(sandbox.id, 'hibernate')).status).toBe(200)
    expect(await agent.sh(sandbox.id, 'cat /root/file /run/memory; sync')).toBe('kept\nkept')
    expect(await zygotes.isContinued(sandbox)).toBe(true)
    const active = (await blockNodes(zygotes.folderOf(sandbox))).filter(({ drv, ro }) => drv === 'qcow2' && !ro)
    expect(active.map(({ cache }) => cache['no-flush'])).toEqual([false])
    const vm = await zygotes.processOf(sandbox)
    const socket = (name: string) => ownSocket(zygotes.folderOf(sandbox), name, true)
    const image = await MemoryImage.take({ process: vm.process, socket }, deadline())
    expect(image).not.toBeNull()
    image?.close()
    const endsAtMs = await leases.renew(SHORT)
    await eventually('the end of the lease', async () => uptimeMs() > endsAtMs)
    await eventually('the VM to stand still', async () => isStopped(vm.process.pid))
    await leases.renew(LONG)
    expect(await agent.sh(sandbox.id, 'cat /run/memory')).toBe('kept')
    expect((await agent.delete(sandbox.id)).status).toBe(204)
  })

  it('stands still while its host has no lease, also under another agent, and then goes on', async () => {
    const sandbox = await zygotes.taken()
    await agent.sh(sandbox.id, 'echo kept > /run/memory; (while :; do echo; sleep 0.02; done) > /dev/ttyS0 2>&1 &')
    await agent.stop('SIGKILL')
    await agent.start()
    const { process: vm } = await zygotes.processOf(sandbox)
    const endsAtMs = await leases.renew(SHORT)
    await eventually('the end of the lease', async () => uptimeMs() > endsAtMs)
    await eventually('the VM to stand still', async () => isStopped(vm.pid))
    await leases.renew(LONG)
    expect(await agent.sh(sandbox.id, 'cat /run/memory')).toBe('kept')
    expect((await zygotes.processOf(sandbox)).process).toEqual(vm)
  })
})

interface BlockNode {
  readonly drv: string
  readonly ro: boolean
  readonly file: string
  readonly cache: { readonly 'no-flush': boolean }
}

/** QEMU's answer to a command that the agent itself does not send. */
async function blockNodes(folder: string): Promise<readonly BlockNode[]> {
  const monitor = connect(await ownSocket(folder, QMP_SOCKET, true))
  try {
    for (const execute of ['qmp_capabilities', 'query-named-block-nodes'])
      monitor.write(`${JSON.stringify({ execute, id: execute })}\n`)
    for await (const line of createInterface({ input: monitor })) {
      const answer = JSON.parse(line) as { readonly id?: string; readonly return?: readonly BlockNode[] }
      if (answer.id === 'query-named-block-nodes') return answer.return ?? []
    }
    throw new Error('QEMU does not answer')
  } finally {
    // QEMU has one client at a time.
    monitor.destroy()
  }
}
