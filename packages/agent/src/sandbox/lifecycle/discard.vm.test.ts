/** @module-tag long */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'

const MIB = 1024 * 1024
const FILE_MIB = 24
/** A part of the root disk that no file of the test uses. */
const RAW = { bs: '64k', at: 60 * 16, count: 8 }

let agent: AgentProcess
beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
})
afterAll(() => agent.destroy())

/** The disk space that a sandbox's active layer occupies on the host. */
async function writtenMib(id: string): Promise<number> {
  const folder = join(agent.dataDir, 'sandboxes', id, 'vm')
  const layers = (await readdir(folder)).filter((name) => name.endsWith('.qcow2'))
  expect(layers).toHaveLength(1)
  return ((await stat(join(folder, layers[0] ?? ''))).blocks * 512) / MIB
}

/** Writes a file, deletes it, and waits until the host has the disk space back. */
async function expectRoomBack(id: string): Promise<void> {
  const before = await writtenMib(id)
  const file = '/root/large'
  await agent.sh(id, `yes "$(printf %4000s x)" | head -c ${FILE_MIB * MIB} > ${file}; sync`)
  expect(await writtenMib(id)).toBeGreaterThanOrEqual(before + FILE_MIB)
  await agent.sh(id, `rm ${file}; sync`)
  await eventually('the room of the file', async () => (await writtenMib(id)) < before + FILE_MIB / 6, 20_000)
}

describe('space of deleted files is returned to the host', () => {
  it('by a sandbox from a template, also after a hibernation', async () => {
    const { id } = await agent.created()
    await expectRoomBack(id)
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    expect((await agent.act(id, 'wake')).status).toBe(200)
    await expectRoomBack(id)
    await agent.delete(id)
  })

  it('by a child of a fork, without exposing data of the frozen layer below', async () => {
    const { id } = await agent.created()
    const { bs, at, count } = RAW
    const hashOf = (from: string, what: string) => agent.sh(from, `${what} | md5sum`)
    const raw = `dd if=/dev/vda iflag=direct bs=${bs} skip=${at} count=${count} 2>/dev/null`
    const zeros = await hashOf(id, `head -c ${count * 64 * 1024} /dev/zero`)
    await agent.sh(id, `yes below | dd of=/dev/vda iflag=fullblock bs=${bs} seek=${at} count=${count} conv=fsync`)
    await agent.sh(id, `head -c ${MIB} /dev/urandom > /root/kept; sync`)
    const written = [await hashOf(id, raw), await hashOf(id, 'cat /root/kept')]
    expect(written).not.toContain(zeros)
    const { children } = await agent.forked(id, 1)
    const child = children[0]?.id ?? ''
    await expectRoomBack(child)
    await agent.sh(child, `blkdiscard -o $((${at} * 65536)) -l $((${count} * 65536)) /dev/vda; rm /root/kept; sync`)
    expect(await hashOf(child, raw)).toBe(zeros)
    await agent.sh(id, 'echo 3 > /proc/sys/vm/drop_caches')
    expect([await hashOf(id, raw), await hashOf(id, 'cat /root/kept')]).toEqual(written)
    // Last, because the file may be in the same blocks as the parent's data.
    await expectRoomBack(id)
    for (const each of [id, child]) await agent.delete(each)
  })
})
