import { randomUUID } from 'node:crypto'
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentFork, AgentSandbox, AgentSnapshot, AgentSnapshotList } from '@offshoot/contract/agent-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually, OTHER_WORKSPACE } from '../../test/agent-process.ts'
import { clockError } from '../../test/clock-error.ts'

/** Generations of forks. Tried with 66; the agent flattens a disk of 64 layers before the next fork. */
const GENERATIONS = Number(process.env['OFFSHOOT_FORK_CHAIN'] ?? 10)

let agent: AgentProcess
beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
})
afterAll(() => agent.destroy())

const list = async () => (await agent.call<AgentSnapshotList>('GET', '/v1/snapshots', { workspace: null })).body
const remove = (id: string, workspace?: string) =>
  agent.call('DELETE', `/v1/snapshots/${id}`, workspace === undefined ? {} : { workspace })
const createFrom = (snapshotId: string, options: { env?: object; workspace?: string } = {}) => {
  const { env = {}, workspace } = options
  const body = { id: randomUUID(), template: 'minimal', env, snapshot_id: snapshotId }
  return agent.call<AgentSandbox>('POST', '/v1/sandboxes', { body, ...(workspace === undefined ? {} : { workspace }) })
}
/** Metadata of the events of one type about one sandbox. */
const metadataOf = async (id: string, type: string) =>
  (await agent.records())
    .filter(({ event }) => event.sandbox_id === id && event.type === type)
    .map(({ event }) => event.metadata)

async function snapshotOf(id: string): Promise<AgentSnapshot> {
  const { status, body } = await agent.act<AgentSnapshot>(id, 'snapshots', { id: randomUUID() })
  if (status !== 201) throw new Error(`snapshot answered ${status}: ${JSON.stringify(body)}\n${agent.log.slice(-3000)}`)
  return body
}

async function expectNothingKept() {
  expect(await agent.folders()).toEqual([])
  expect(await agent.vms()).toEqual([])
  await eventually('no layer', async () => (await agent.layers()).length === 0)
}

describe('children', () => {
  it('that cannot take their identity end before any process runs in them', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    await agent.sh(id, 'rm /etc/machine-id; mkdir /etc/machine-id')
    const { snapshot, children } = await agent.forked(id, 1)
    const child = children[0]?.id ?? ''
    await eventually('the end of it', async () => (await agent.events(child)).includes('vm.died'))
    expect(agent.log).toContain('refresh: machine id')
    expect(await agent.sh(id, 'echo on')).toBe('on')
    for (const gone of [child, id]) expect((await agent.delete(gone)).status).toBe(204)
    expect((await remove(snapshot.id)).status).toBe(204)
    await expectNothingKept()
  })

  it('have the parent’s state of one instant, and an identity of their own', async () => {
    const { id } = await agent.created({ COLOUR: 'blue' })
    await agent.sh(id, 'echo written > /root/file; mkdir -p /run/shm; echo remembered > /run/memory')
    const pid = await agent.sh(id, '(while :; do sleep 0.05; echo x >> /run/count; done) >/dev/null 2>&1 & echo $!')
    const treeId = randomUUID()
    const { snapshot, children, errors } = await agent.forked(id, 2, treeId)
    expect(errors).toEqual([])
    expect(snapshot).toMatchObject({ sandbox_id: id, origin: 'fork', template: 'minimal' })
    const drawn = new Set<string>()
    for (const child of [...children, { id }]) {
      const cmd = `cat /root/file /run/memory; echo $COLOUR; hostname; cat /etc/machine-id; kill -0 ${pid} && echo alive`
      const said = (await agent.sh(child.id, cmd)).split('\n')
      const own = [`sbx-${child.id.slice(0, 8)}`, child.id.replaceAll('-', '')]
      expect(said).toEqual(['written', 'remembered', 'blue', ...own, 'alive'])
      drawn.add(await agent.sh(child.id, 'head -c 32 /dev/urandom | od -An -tx1'))
      const count = await agent.sh(child.id, 'wc -l < /run/count')
      await eventually('more', async () => Number(await agent.sh(child.id, 'wc -l < /run/count')) > Number(count))
      expect(await clockError(agent, child.id)).toBeLessThanOrEqual(1)
    }
    expect(drawn.size).toBe(3)
    const [first, second] = children
    await agent.sh(first?.id ?? '', 'echo changed > /root/file; sync')
    expect(await agent.sh(second?.id ?? '', 'cat /root/file')).toBe('written')
    expect(await agent.sh(id, 'cat /root/file')).toBe('written')
    for (const child of children) {
      expect(child).toMatchObject({
        boot_mode: 'fork',
        parent_id: id,
        fork_tree_id: treeId,
        from_snapshot: snapshot.id,
      })
      expect((await agent.events(child.id)).slice(0, 2)).toEqual(['sandbox.running', 'sandbox.forked'])
      expect(await metadataOf(child.id, 'sandbox.forked')).toEqual([{ parent_id: id }])
      expect(await metadataOf(child.id, 'sandbox.running')).toMatchObject([
        { boot_mode: 'fork', from_snapshot: snapshot.id },
      ])
    }
    expect(await metadataOf(id, 'fork.staged')).toMatchObject([{ snapshot_id: snapshot.id, count: 2 }])
    const ids = children.map((child) => ({ child_id: child.id }))
    expect(new Set(await metadataOf(id, 'fork.completed'))).toEqual(new Set(ids))
    expect(await metadataOf(id, 'fork_tree.completed')).toEqual([{ tree_id: treeId, completed: 2, failed: 0 }])
    for (const child of [...children, { id }]) await agent.delete(child.id)
    expect((await remove(snapshot.id)).status).toBe(204)
    await expectNothingKept()
  })

  it('can be forked again, and continue after parent and snapshot are deleted', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    await agent.sh(id, 'echo 1 > /root/file')
    const first = await agent.forked(id)
    const [child] = first.children
    await agent.sh(child?.id ?? '', 'echo 2 >> /root/file')
    const second = await agent.forked(child?.id ?? '')
    const [grandchild] = second.children
    for (const gone of [id, child?.id ?? '']) await agent.delete(gone)
    for (const { snapshot } of [first, second]) await remove(snapshot.id)
    const last = grandchild?.id ?? ''
    expect(await agent.sh(last, 'cat /root/file')).toBe('1\n2')
    await agent.act(last, 'hibernate')
    expect(await agent.sh(last, 'cat /root/file')).toBe('1\n2')
    await agent.delete(last)
    await expectNothingKept()
  })

  it('of many generations have all data that their ancestors wrote', { tags: ['long'] }, async () => {
    const { id } = await agent.created()
    await agent.sh(id, 'echo 0 > /root/file; cp /root/file /run/memory')
    let last = id
    const written = ['0']
    for (let generation = 1; generation <= GENERATIONS; generation++) {
      const { snapshot, children } = await agent.forked(last)
      expect((await agent.delete(last)).status).toBe(204)
      last = children[0]?.id ?? ''
      await agent.sh(last, `echo ${generation} | tee -a /root/file >> /run/memory`)
      await remove(snapshot.id)
      written.push(String(generation))
    }
    expect(await agent.sh(last, 'cat /root/file; cmp /root/file /run/memory')).toBe(written.join('\n'))
    expect((await agent.act(last, 'hibernate')).status).toBe(200)
    expect(await agent.sh(last, 'cat /root/file')).toBe(written.join('\n'))
    await agent.delete(last)
    await expectNothingKept()
  })

  it.each([
    ['paused', 'pause', 'resume'],
    ['hibernated', 'hibernate', 'wake'],
  ])('can be forked from a parent that is %s, which stays so', { tags: ['faults'] }, async (state, stop, start) => {
    const { id } = await agent.created()
    await agent.sh(id, 'echo kept > /run/memory')
    await agent.act(id, stop)
    const { children, snapshot } = await agent.forked(id, 2)
    for (const child of children) expect(await agent.sh(child.id, 'cat /run/memory')).toBe('kept')
    expect((await agent.call<AgentSandbox>('GET', `/v1/sandboxes/${id}`)).body.status).toBe(state)
    expect((await agent.act(id, start)).status).toBe(200)
    expect(await agent.sh(id, 'cat /run/memory; hostname')).toBe(`kept\nsbx-${id.slice(0, 8)}`)
    for (const each of [...children, { id }]) await agent.delete(each.id)
    await remove(snapshot.id)
    await expectNothingKept()
  })

  it('start (the first one) during the capture, and leave nothing if a fork fails', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    await agent.sh(id, 'echo before > /root/file; echo remembered > /run/memory')
    const { children, snapshot } = await agent.forked(id, 2)
    const machines = await agent.vms()
    const beganAhead = await Promise.all(
      children.map(async ({ id: child }) => {
        const { process: vm } = machines.find(({ folder }) => folder.includes(child)) ?? { process: { pid: 0 } }
        expect(await agent.sh(child, 'cat /root/file /run/memory')).toBe('before\nremembered')
        return (await readFile(`/proc/${vm.pid}/environ`, 'utf8')).includes('GUEST_STATE_FD=')
      }),
    )
    expect(beganAhead).toEqual([process.getuid?.() === 0, false])
    // A child of the first child, whose QEMU started before its layer was frozen.
    const [first] = children
    await agent.sh(first?.id ?? '', 'echo after >> /root/file')
    const below = await agent.forked(first?.id ?? '', 1)
    expect(await agent.sh(below.children[0]?.id ?? '', 'cat /root/file')).toBe('before\nafter')
    // Refused before the capture (the snapshot's id is taken), and after it (the child's id is taken).
    expect(
      (await agent.act(id, 'fork', { snapshot_id: snapshot.id, children: [{ id: randomUUID(), index: 0 }] })).status,
    ).toBe(409)
    const taken = { snapshot_id: randomUUID(), children: [{ id, index: 0 }] }
    expect(await agent.act(id, 'fork', taken)).toMatchObject({ body: { errors: [{ error: 'conflict' }] } })
    expect(await readdir(join(agent.dataDir, 'spares'))).toEqual([])
    for (const each of [...children, ...below.children, { id }]) await agent.delete(each.id)
    for (const each of [snapshot.id, below.snapshot.id, taken.snapshot_id]) await remove(each)
    await expectNothingKept()
  })

  it('fail independently of each other', async () => {
    const { id } = await agent.created()
    const fresh = randomUUID()
    const children = [id, fresh].map((child, index) => ({ id: child, index }))
    const body = { snapshot_id: randomUUID(), tree_id: randomUUID(), children }
    const answer = await agent.act<AgentFork>(id, 'fork', body)
    expect(answer.status).toBe(201)
    expect(answer.body.children.map((child) => child.id)).toEqual([fresh])
    expect(answer.body.errors).toEqual([{ index: 0, id, error: 'conflict', status: 409 }])
    expect(await metadataOf(id, 'fork.child_failed')).toEqual([{ index: 0, error: 'conflict' }])
    expect(await metadataOf(id, 'fork_tree.completed')).toMatchObject([{ completed: 1, failed: 1 }])
    const again = await agent.act(id, 'fork', body)
    expect(again.status).toBe(409)
    for (const each of [id, fresh]) await agent.delete(each)
    await remove(body.snapshot_id)
    await expectNothingKept()
  })

  it('are not affected when their parent is deleted meanwhile', { tags: ['faults'] }, async () => {
    const { id } = await agent.created()
    const forking = agent.forked(id, 3).catch(() => null)
    await eventually('a child', async () => (await agent.folders()).length > 1)
    expect((await agent.delete(id)).status).toBe(204)
    const fork = await forking
    if (fork === null) throw new Error(agent.log.slice(-3000))
    for (const child of fork.children) expect(await agent.sh(child.id, 'echo here')).toBe('here')
    expect((await agent.events(id)).at(-1)).toBe('sandbox.deleted')
    for (const child of fork.children) await agent.delete(child.id)
    await remove(fork.snapshot.id)
    await expectNothingKept()
  })

  it('can be promoted once', async () => {
    const { id } = await agent.created()
    const treeId = randomUUID()
    const { children, snapshot } = await agent.forked(id, 1, treeId)
    const winner = children[0]?.id ?? ''
    const body = { tree_id: treeId, deleted: [] }
    for (let time = 0; time < 2; time++) {
      expect(await agent.act(winner, 'promote', body)).toMatchObject({ status: 200, body: { parent_id: null } })
    }
    expect(await metadataOf(winner, 'fork_tree.promoted')).toEqual([body])
    expect((await agent.act(winner, 'promote', { ...body, tree_id: randomUUID() })).status).toBe(409)
    expect((await agent.act(id, 'promote', body)).status).toBe(409)
    for (const each of [id, winner]) await agent.delete(each)
    await remove(snapshot.id)
    await expectNothingKept()
  })
})

describe('a snapshot', () => {
  it('outlives its sandbox and its agent, and can be restored as new sandboxes', async () => {
    const { id } = await agent.created({ COLOUR: 'blue' })
    await agent.sh(id, 'echo kept > /run/memory; echo written > /root/file')
    const snapshot = await snapshotOf(id)
    expect(snapshot).toMatchObject({ sandbox_id: id, template: 'minimal', origin: 'user', memory_mb: 128 })
    expect(snapshot.size_bytes).toBeGreaterThan(0)
    await agent.sh(id, 'echo later > /root/file')
    await agent.delete(id)
    await agent.stop('SIGKILL')
    await agent.start()
    expect((await list()).snapshots).toEqual([snapshot])
    const kept = await createFrom(snapshot.id)
    const changed = await createFrom(snapshot.id, { env: { COLOUR: 'red' } })
    for (const { status, body } of [kept, changed])
      expect({ status, body }).toMatchObject({
        status: 201,
        body: { boot_mode: 'snapshot', from_snapshot: snapshot.id },
      })
    const cmd = 'cat /run/memory /root/file; echo $COLOUR; hostname'
    expect(await agent.sh(kept.body.id, cmd)).toBe(`kept\nwritten\nblue\nsbx-${kept.body.id.slice(0, 8)}`)
    expect(await agent.sh(changed.body.id, cmd)).toBe(`kept\nwritten\nred\nsbx-${changed.body.id.slice(0, 8)}`)
    expect((await remove(snapshot.id)).status).toBe(204)
    expect((await createFrom(snapshot.id)).status).toBe(404)
    expect(await agent.sh(kept.body.id, 'cat /run/memory')).toBe('kept')
    for (const { body } of [kept, changed]) await agent.delete(body.id)
    await expectNothingKept()
  })

  it('is visible to its workspace only; deleting it is idempotent', async () => {
    const { id } = await agent.created()
    const { id: snapshotId } = await snapshotOf(id)
    expect((await agent.act(id, 'snapshots', { id: snapshotId })).status).toBe(409)
    expect((await createFrom(snapshotId, { workspace: OTHER_WORKSPACE })).status).toBe(404)
    expect((await remove(snapshotId, OTHER_WORKSPACE)).status).toBe(404)
    expect((await agent.call('GET', '/v1/snapshots')).status).toBe(404)
    for (let time = 0; time < 2; time++) expect((await remove(snapshotId)).status).toBe(204)
    expect((await list()).snapshots).toEqual([])
    await agent.delete(id)
    await expectNothingKept()
  })

  it.each(['pages', 'state', 'checkpoint.json'])('is refused if its %s was changed on disk', async (name) => {
    const { id } = await agent.created()
    const snapshot = await snapshotOf(id)
    const path = join(agent.dataDir, 'snapshots', snapshot.id, name)
    const bytes = await readFile(path)
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    await chmod(path, 0o600)
    await writeFile(path, bytes)
    const { status, body } = await createFrom(snapshot.id)
    expect({ status, body }).toMatchObject({
      status: 500,
      body: { error: 'snapshot cannot be restored', detail: expect.stringContaining(`${name} was changed on disk`) },
    })
    for (const each of [id]) await agent.delete(each)
    await remove(snapshot.id)
    await expectNothingKept()
  })
})
