import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isPresent } from '../../store/ledger/is-present.ts'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { distinctPages } from '../../test/distinct-pages.ts'
import { imagesWithDurable } from '../../test/durable-images.ts'
import { ZygoteCopies } from '../../test/zygote-copies.ts'

const MIB = 1024 * 1024
/** With what a guest writes at its start, more than the least that is kept. */
const LARGE_MIB = 40

let images: string
let agent: AgentProcess
beforeAll(async () => {
  images = await mkdtemp(join(tmpdir(), 'offshoot-images-'))
  const imagesDir = await imagesWithDurable(process.env['OFFSHOOT_IMAGES_DIR'] ?? '', images)
  const options = { images_dir: imagesDir, templates: ['minimal', 'durable'], pool_memory_mib: 1024 }
  agent = await AgentProcess.create(undefined, options)
  await agent.prepare()
})
beforeEach(async () => {
  await agent.reset()
  await agent.start()
})
afterAll(async () => {
  await agent.destroy()
  await rm(images, { recursive: true, force: true })
})

/** A sandbox with a large memory. @returns also what {@link seen} says of it */
async function large(template = 'minimal') {
  const { id } = await agent.created({}, template)
  await agent.sh(id, `mkdir -p /run/t && mount -t tmpfs -o size=100% none /run/t; echo 0 > /run/t/round`)
  await agent.sh(id, distinctPages('/run/t/large', LARGE_MIB))
  return { id, sums: await seen(id) }
}
const seen = (id: string) => agent.sh(id, 'md5sum /run/t/large; cat /run/t/round')

/** Forks it once. @returns also the bytes and the number of bases of the snapshot, which may not be sealed yet */
async function fork(id: string) {
  const { snapshot, children, errors } = await agent.forked(id)
  expect(errors).toEqual([])
  const folder = join(agent.dataDir, 'snapshots', snapshot.id)
  const own = async () => (await stat(join(folder, 'pages'))).size
  const bases = async () => (await readdir(folder)).filter((name) => /^base-\d+\.pages$/.test(name)).length
  return { snapshot: snapshot.id, child: children[0]?.id ?? '', own: await own(), bases: await bases() }
}
const kept = (id: string) => join(agent.dataDir, 'sandboxes', id, 'kept-memory')
const isGone = async (id: string) => eventually('its end', async () => !(await isPresent(kept(id))))

describe('the memory of a large sandbox', () => {
  it.each([
    ['a sandbox', 'minimal'],
    ['a durable sandbox', 'durable'],
  ])(
    'is written by the first fork of %s, and later ones write the changes; each child has all of it',
    async (_, template) => {
      await new ZygoteCopies(agent, template).make()
      const { id, sums } = await large(template)
      const first = await fork(id)
      expect(first.own).toBeGreaterThan(LARGE_MIB * MIB)
      expect(first.bases).toBe(0)
      for (const round of [1, 2, 3]) {
        await agent.sh(id, `echo ${round} > /run/t/round`)
        const next = await fork(id)
        expect(next.own).toBeLessThan(first.own / 2)
        expect(next.bases).toBeGreaterThan(0)
        const expected = sums.replace(/\d+$/, String(round))
        expect([await seen(next.child), await seen(id)]).toEqual([expected, expected])
        expect((await agent.delete(next.child)).status).toBe(204)
      }
      expect(await seen(first.child)).toBe(sums)
    },
  )

  it('needs no snapshot of an earlier fork, which may be deleted', { tags: ['faults'] }, async () => {
    const { id, sums } = await large()
    const first = await fork(id)
    await agent.sh(id, 'echo 1 > /run/t/round')
    for (const gone of [`sandboxes/${first.child}`, `snapshots/${first.snapshot}`])
      expect((await agent.call('DELETE', `/v1/${gone}`)).status).toBe(204)
    const second = await fork(id)
    expect(second.bases).toBe(1)
    const grandchild = await fork(second.child)
    expect([grandchild.bases > 0, grandchild.own < first.own / 2]).toEqual([true, true])
    expect(await seen(grandchild.child)).toBe(sums.replace(/0$/, '1'))
    await agent.sh(id, 'echo 2 > /run/t/round')
    // As if a disk had lost it.
    await rm(kept(id), { recursive: true })
    const third = await fork(id)
    expect([third.bases, third.own > LARGE_MIB * MIB]).toEqual([0, true])
    expect(await seen(second.child)).toBe(sums.replace(/0$/, '1'))
    expect(await seen(third.child)).toBe(sums.replace(/0$/, '2'))
  })

  it('is written anew after the agent was killed, and hibernates whole', { tags: ['faults'] }, async () => {
    const { id, sums } = await large()
    await fork(id)
    await agent.stop('SIGKILL')
    await agent.start()
    const { child, bases, own } = await fork(id)
    expect([bases, own > LARGE_MIB * MIB]).toEqual([0, true])
    expect(await seen(child)).toBe(sums)
    await fork(id)
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    await isGone(id)
    expect((await agent.act(id, 'wake')).status).toBe(200)
    expect(await seen(id)).toBe(sums)
    // The fork of a woken one writes what has changed since.
    const woken = await fork(id)
    expect([woken.bases > 0, woken.own < own / 2]).toEqual([true, true])
    expect(await seen(woken.child)).toBe(sums)
    expect((await agent.delete(id)).status).toBe(204)
    await isGone(id)
  })
})
