import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyWorkspace } from './setup/empty-workspace.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
// Also cleans up before a retry.
beforeEach(() => emptyWorkspace(offshoot))
afterAll(giveBack)

const get = (path: string) => offshoot.request('GET', `/v1/snapshots${path}`)
const onDisk = () => readdir(join(offshoot.dataDir, 'agent/snapshots'))

async function take(id: string): Promise<{ id: string; [field: string]: unknown }> {
  const answer = await offshoot.request('POST', `/v1/sandboxes/${id}/snapshots`)
  expect(answer).toMatchObject({ status: 201 })
  return answer.body
}

describe('a snapshot', () => {
  it('is an instant of its sandbox, which it outlives: others begin where it was', async () => {
    const { id } = await offshoot.create({ template: 'minimal', env: { COLOUR: 'green' } })
    const start =
      'echo before > /root/file; echo before > /dev/shm/memory; sleep 1000 </dev/null >/dev/null 2>&1 & echo $!'
    const pid = (await offshoot.exec(id, `mkdir -p /dev/shm; ${start}`)).stdout.trim()
    const snapshot = await take(id)
    expect(snapshot).toEqual({
      id: expect.any(String),
      name: null,
      sandbox_id: id,
      template: 'minimal',
      cpu: 1,
      memory_mb: expect.any(Number),
      size_bytes: expect.any(Number),
      origin: 'user',
      created_at: expect.any(String),
    })
    await offshoot.exec(id, `echo after > /root/file; kill ${pid}`)
    expect((await get('')).body).toEqual([snapshot])
    expect((await get(`?sandbox_id=${id}`)).body).toEqual([snapshot])
    expect((await get(`?sandbox_id=${randomUUID()}`)).body).toEqual([])
    await offshoot.delete(id)
    await offshoot.killService('agent')
    expect((await get(`/${snapshot.id}`)).body).toEqual(snapshot)

    const again = await offshoot.create({ template: 'minimal', from_snapshot: snapshot.id, metadata: { a: 'b' } })
    expect(again).toMatchObject({ boot_mode: 'snapshot', from_snapshot: snapshot.id, metadata: { a: 'b' } })
    const look = `cat /root/file /dev/shm/memory; echo $COLOUR; kill -0 ${pid} && echo alive; hostname`
    const [file, memory, colour, alive, hostname] = (await offshoot.exec(again.id, look)).stdout.split('\n')
    expect({ file, memory, colour, alive }).toEqual({
      file: 'before',
      memory: 'before',
      colour: 'green',
      alive: 'alive',
    })
    const events = await offshoot.request('GET', `/v1/sandboxes/${again.id}/events?since=0`)
    expect(events.body[0]).toMatchObject({ type: 'sandbox.running', metadata: { from_snapshot: snapshot.id } })

    // The snapshot is deleted while a sandbox made from it runs, which must continue. A second one has its own host
    // name.
    const other = await offshoot.create({ template: 'minimal', from_snapshot: snapshot.id })
    expect((await offshoot.exec(other.id, 'hostname')).stdout.trim()).not.toBe(hostname)
    expect((await offshoot.request('DELETE', `/v1/snapshots/${snapshot.id}`)).status).toBe(204)
    expect((await offshoot.request('DELETE', `/v1/snapshots/${snapshot.id}`)).status).toBe(404)
    expect((await get('')).body).toEqual([])
    expect((await offshoot.exec(other.id, 'cat /root/file')).stdout).toBe('before\n')
    expect(
      await offshoot.request('POST', '/v1/sandboxes', { body: { template: 'minimal', from_snapshot: snapshot.id } }),
    ).toMatchObject({ status: 404, body: { error: 'not found', detail: `unknown snapshot: ${snapshot.id}` } })
    await Promise.all([offshoot.delete(again.id), offshoot.delete(other.id)])
    await until('its folder gone', async () => (await onDisk()).length === 0)
  })

  it.each([
    ['pause', 'paused'],
    ['hibernate', 'hibernated'],
  ])('is also taken after %s, and the sandbox stays %s', { tags: ['long'] }, async (transition, status) => {
    const { id } = await offshoot.create()
    await offshoot.exec(id, 'echo here > /root/file')
    await offshoot.request('POST', `/v1/sandboxes/${id}/${transition}`)
    const snapshot = await take(id)
    expect((await offshoot.request('GET', `/v1/sandboxes/${id}`)).body.status).toBe(status)
    const again = await offshoot.create({ template: 'minimal', from_snapshot: snapshot.id })
    expect((await offshoot.exec(again.id, 'cat /root/file')).stdout).toBe('here\n')
    expect((await offshoot.request('DELETE', `/v1/snapshots/${snapshot.id}`)).status).toBe(204)
    await Promise.all([offshoot.delete(id), offshoot.delete(again.id)])
  })

  it('whose taking is cut off by a kill -9 of control leaves nothing, or is there', { tags: ['faults'] }, async () => {
    const { id } = await offshoot.create()
    const taking = offshoot.request('POST', `/v1/sandboxes/${id}/snapshots`).catch(() => null)
    await offshoot.killService('control')
    await taking
    await until('rows and disk to agree', async () => {
      const rows = (await get('')).body.map((row: { id: string }) => row.id) as string[]
      return rows.toSorted().join() === (await onDisk()).toSorted().join()
    })
    expect((await offshoot.exec(id, 'echo runs')).stdout).toBe('runs\n')
    for (const { id: left } of (await get('')).body) await offshoot.request('DELETE', `/v1/snapshots/${left}`)
    await offshoot.delete(id)
  })
})
