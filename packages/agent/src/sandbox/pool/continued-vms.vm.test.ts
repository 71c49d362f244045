import { readlink } from 'node:fs/promises'
import { isAlive, signalProcess } from '@offshoot/kit/process-identity'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { NAMESPACES, ZygoteCopies } from '../../test/zygote-copies.ts'

const CHILDREN = 4

let agent: AgentProcess
let zygotes: ZygoteCopies
beforeAll(async () => {
  agent = await AgentProcess.create(undefined, { pool_memory_mib: 1024 })
  zygotes = new ZygoteCopies(agent)
})
beforeEach(async () => {
  await agent.reset()
  await agent.start()
  await zygotes.make()
})
afterAll(() => agent.destroy())

/** A sandbox with something in its memory and on its disk. */
async function used(): Promise<string> {
  const { id } = await agent.created()
  await agent.sh(id, 'echo memory > /run/memory; echo disk > /root/disk')
  return id
}
const SEEN = 'cat /run/memory /root/disk'
const EXPECTED = 'memory\ndisk'

describe('a copy of a zygote', () => {
  it('continues each child of a fork, and these are independent of each other and of their parent', async () => {
    const parent = await used()
    const { children, errors } = await agent.forked(parent, CHILDREN)
    expect(errors).toEqual([])
    const seen = await Promise.all(
      children.map(async ({ id }, at) => agent.sh(id, `${SEEN}; echo ${at} > /run/memory; hostname`)),
    )
    expect(seen).toEqual(children.map(({ id }) => `${EXPECTED}\nsbx-${id.slice(0, 8)}`))
    for (const [at, child] of children.entries()) {
      expect(await zygotes.isContinued(child)).toBe(true)
      expect(await agent.sh(child.id, 'cat /run/memory')).toBe(String(at))
    }
    expect(await agent.sh(parent, SEEN)).toBe(EXPECTED)
    const [child] = children
    const [grandchild] = (await agent.forked(child?.id ?? '')).children
    expect(await agent.sh(grandchild?.id ?? '', 'cat /run/memory /root/disk')).toBe('0\ndisk')
    for (const { id } of await sandboxes()) expect((await agent.delete(id)).status).toBe(204)
  })

  it('continues a sandbox that wakes, again and again', async () => {
    const id = await used()
    for (let round = 0; round < 3; round++) {
      expect((await agent.act(id, 'hibernate')).status).toBe(200)
      expect(await agent.sh(id, `${SEEN}; echo ${round} >> /run/rounds; wc -l < /run/rounds`)).toBe(
        `${EXPECTED}\n${round + 1}`,
      )
      expect(await zygotes.isContinued({ id })).toBe(true)
    }
    for (const change of ['pause', 'resume']) expect((await agent.act(id, change)).status).toBe(200)
    expect(await agent.sh(id, SEEN)).toBe(EXPECTED)
  })

  it('that continues a sandbox has files and namespaces of its own', { tags: ['long'] }, async () => {
    const { children } = await agent.forked(await used(), 2)
    const vms = await Promise.all(children.map(async (child) => zygotes.processOf(child)))
    const writable = await Promise.all(vms.map(async (vm) => zygotes.writableInodes(vm)))
    expect(writable[0]?.filter((inode) => writable[1]?.includes(inode))).toEqual([])
    for (const namespace of NAMESPACES) {
      const links = await Promise.all(
        [...vms.map((vm) => vm.process.pid), process.pid].map((pid) => readlink(`/proc/${pid}/ns/${namespace}`)),
      )
      expect(new Set(links).size).toBe(3)
    }
  })

  it('that continues a sandbox outlives its agent and its zygote', { tags: ['faults'] }, async () => {
    const [child] = (await agent.forked(await used())).children
    const id = child?.id ?? ''
    const before = await zygotes.processOf({ id })
    const { process: zygote } = await zygotes.zygote()
    await agent.stop('SIGKILL')
    await agent.start()
    expect(await isAlive(zygote)).toBe(false)
    expect((await zygotes.processOf({ id })).process).toEqual(before.process)
    expect(await agent.sh(id, SEEN)).toBe(EXPECTED)
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    expect(await agent.sh(id, SEEN)).toBe(EXPECTED)
  })

  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    'is not needed: children are restored when their zygote has got %s',
    { tags: ['faults'] },
    async (signal) => {
      const parent = await used()
      await zygotes.wait()
      const { process: zygote } = await zygotes.zygote()
      signalProcess(zygote, signal)
      const { children, errors } = await agent.forked(parent, 2)
      expect(errors).toEqual([])
      for (const child of children) {
        expect(await agent.sh(child.id, SEEN)).toBe(EXPECTED)
        expect(await zygotes.isContinued(child)).toBe(false)
      }
      await eventually('the end of the zygote', async () => !(await isAlive(zygote)))
    },
  )
})

async function sandboxes() {
  return (await agent.list()).sandboxes
}
