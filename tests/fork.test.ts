import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

interface Child {
  readonly id: string
  readonly metadata: Record<string, string>
}

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

const get = (id: string) => offshoot.request('GET', `/v1/sandboxes/${id}`)
const ask = (id: string, action: string, body?: object) =>
  offshoot.request('POST', `/v1/sandboxes/${id}/${action}`, body ? { body } : {})
const output = async (id: string, cmd: string) => (await offshoot.exec(id, cmd)).stdout
const eventTypes = async (id: string): Promise<string[]> =>
  (await offshoot.request('GET', `/v1/sandboxes/${id}/events?since=0`)).body
    .map(({ type }: { type: string }) => type)
    .filter((type: string) => type !== 'sandbox.ssh_ready')

async function made(id: string, action: string, body?: object) {
  const answer = await ask(id, action, body)
  expect(answer).toMatchObject({ status: 201 })
  return answer.body
}

/** Values that must differ between any two sandboxes. */
const IDENTITY = 'hostname; cat /etc/machine-id; head -c 16 /dev/urandom | od -An -tx1'

describe('a fork', () => {
  it('has its parent’s files, memory and processes, and an identity of its own', async () => {
    const parent = await offshoot.create({ template: 'minimal', metadata: { team: 'red' }, env: { COLOUR: 'green' } })
    const sleeper = (
      await output(parent.id, 'echo both > /root/file; sleep 1000 </dev/null >/dev/null 2>&1 & echo $!')
    ).trim()
    const child = await made(parent.id, 'fork')
    const shown = (await get(child.id)).body
    expect(child).toEqual({ ...shown, snapshot_id: expect.any(String), children: [shown], warnings: [] })
    expect(shown).toMatchObject({
      status: 'running',
      boot_mode: 'fork',
      parent_id: parent.id,
      fork_tree_id: null,
      metadata: { team: 'red' },
      from_snapshot: child.snapshot_id,
    })
    const look = `cat /root/file; echo $COLOUR; kill -0 ${sleeper} && echo alive`
    for (const { id } of [parent, child]) expect(await output(id, look)).toBe('both\ngreen\nalive\n')
    const [own, childs] = await Promise.all([parent, child].map(({ id }) => output(id, IDENTITY)))
    for (const [n, line] of String(own).trim().split('\n').entries())
      expect(String(childs).split('\n')[n]).not.toBe(line)
    await output(child.id, 'echo child > /root/file')
    expect(await output(parent.id, 'cat /root/file')).toBe('both\n')
    expect(await eventTypes(parent.id)).toEqual(
      expect.arrayContaining(['fork.staged', 'fork.completed', 'sandbox.forked']),
    )
    expect(await eventTypes(child.id)).toContain('sandbox.running')

    // Forks the child after its own parent was deleted.
    await offshoot.delete(parent.id)
    const grandchild = await made(child.id, 'fork', { metadata: { other: 'tags' } })
    expect(grandchild).toMatchObject({ parent_id: child.id, metadata: { other: 'tags' } })
    expect(await output(grandchild.id, 'cat /root/file; echo $COLOUR')).toBe('child\ngreen\n')
    await Promise.all([offshoot.delete(child.id), offshoot.delete(grandchild.id)])
  })

  it.each([
    ['pause', 'paused'],
    ['hibernate', 'hibernated'],
  ])('after %s is of a parent that stays %s', { tags: ['long'] }, async (transition, status) => {
    const parent = await offshoot.create()
    await output(parent.id, 'echo here > /root/file')
    expect((await ask(parent.id, transition)).status).toBe(200)
    const child = await made(parent.id, 'fork')
    expect(await output(child.id, 'cat /root/file')).toBe('here\n')
    expect((await get(parent.id)).body.status).toBe(status)
    await Promise.all([offshoot.delete(child.id), offshoot.delete(parent.id)])
  })
})

describe('a fork tree', () => {
  it('has children that go their own ways, until one is promoted', async () => {
    const parent = await offshoot.create()
    await output(parent.id, 'echo parent > /root/file')
    const tree = await made(parent.id, 'fork-tree', { count: 4 })
    expect(tree).toMatchObject({ parent_id: parent.id, errors: [], warnings: [] })
    const children = tree.children as Child[]
    expect(children.map(({ metadata }) => metadata)).toEqual(
      [0, 1, 2, 3].map((n) => ({ fork_tree_id: tree.tree_id, fork_index: `${n}` })),
    )
    await Promise.all(children.map(({ id }, n) => output(id, `cat /root/file; echo child ${n} > /root/file`)))
    expect(await Promise.all(children.map(({ id }) => output(id, 'cat /root/file')))).toEqual(
      children.map((_, n) => `child ${n}\n`),
    )
    const identities = await Promise.all([parent, ...children].map(({ id }) => output(id, IDENTITY)))
    expect(new Set(identities.flatMap((text) => text.trim().split('\n'))).size).toBe(5 * 3)
    expect(await eventTypes(parent.id)).toContain('fork_tree.completed')

    const winner = String(children[2]?.id)
    const siblings = children.map(({ id }) => id).filter((id) => id !== winner)
    expect((await ask(parent.id, 'promote')).status).toBe(409)
    const promoted = await ask(winner, 'promote')
    expect(promoted).toMatchObject({ status: 200 })
    expect({ ...promoted.body, deleted: promoted.body.deleted.toSorted() }).toEqual({
      winner,
      tree_id: tree.tree_id,
      deleted: siblings.toSorted(),
      failures: {},
    })
    expect((await get(winner)).body).toMatchObject({ status: 'running', parent_id: null })
    for (const id of siblings) expect((await get(id)).status).toBe(404)
    const running = (await offshoot.virtualMachines()).map(({ sandboxId }) => sandboxId)
    expect(running.toSorted()).toEqual([parent.id, winner].toSorted())
    expect(await output(winner, 'cat /root/file')).toBe('child 2\n')
    expect(await eventTypes(winner)).toContain('fork_tree.promoted')
    await Promise.all([offshoot.delete(winner), offshoot.delete(parent.id)])
    await until('the snapshots of all forks gone', async () => {
      return (await readdir(join(offshoot.dataDir, 'agent/snapshots'))).length === 0
    })
  })

  it(
    'cut off by a kill -9 of control or agent leaves rows, VMs and folders that agree',
    { tags: ['faults'] },
    async () => {
      const parent = await offshoot.create()
      for (const service of ['control', 'agent'] as const) {
        const forking = ask(parent.id, 'fork-tree', { count: 3 }).catch(() => null)
        await offshoot.killService(service)
        await forking
        await until(
          'all to agree',
          async () => {
            const { body } = await offshoot.request('GET', '/v1/sandboxes')
            const rows = (body as { id: string; status: string }[])
              .map(({ id, status }) => `${id} ${status}`)
              .toSorted()
            const vms = (await offshoot.virtualMachines()).map(({ sandboxId }) => `${sandboxId} running`).toSorted()
            const folders = (await offshoot.folders()).map((id) => `${id} running`).toSorted()
            return rows.join() === vms.join() && vms.join() === folders.join()
          },
          60_000,
        )
        await until('the parent to answer', async () => {
          const { status } = await offshoot.request('POST', `/v1/sandboxes/${parent.id}/exec`, {
            body: { cmd: 'true' },
          })
          return status === 200
        })
      }
      for (const { id } of (await offshoot.request('GET', '/v1/sandboxes')).body) await offshoot.delete(id)
    },
  )
})
