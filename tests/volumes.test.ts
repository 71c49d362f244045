import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyWorkspace } from './setup/empty-workspace.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
// Also cleans up before a retry.
beforeEach(() => emptyWorkspace(offshoot))
afterAll(giveBack)

const ask = (method: string, path: string, body?: unknown) =>
  offshoot.request(method, `/v1/volumes${path}`, body === undefined ? {} : { body })
const sandbox = (...volumes: { name: string; read_only?: boolean }[]) =>
  offshoot.create({ template: 'minimal', volumes })
const sh = async (id: string, cmd: string) => (await offshoot.exec(id, cmd)).stdout.trim()

describe('a volume', () => {
  it('keeps what one sandbox wrote for the next, through the end of every service', async () => {
    expect(await ask('POST', '', { name: 'data', size_mb: 64 })).toMatchObject({
      status: 201,
      body: {
        name: 'data',
        size_mb: 64,
        size_bytes: 64 * 1024 * 1024,
        attached_to: null,
        used_bytes: expect.any(Number),
      },
    })
    expect(await ask('POST', '', { name: 'data' })).toMatchObject({
      status: 409,
      body: { error: 'volume already exists' },
    })
    const first = await sandbox({ name: 'data' })
    expect(first['volumes']).toEqual([{ name: 'data', read_only: false }])
    await sh(first.id, 'mkdir /v && mount /dev/vdb /v && echo kept > /v/file')
    expect((await ask('GET', '/data')).body).toMatchObject({ attached_to: first.id })
    expect(await ask('DELETE', '/data')).toMatchObject({ status: 409, body: { attached_to: first.id } })
    const body = { template: 'minimal', volumes: [{ name: 'data' }] }
    expect(await offshoot.request('POST', '/v1/sandboxes', { body })).toMatchObject({
      status: 409,
      body: { error: `volume data is attached to sandbox ${first.id}`, attached_to: first.id },
    })
    for (const service of ['agent', 'control'] as const) await offshoot.killService(service)
    await offshoot.healthy()
    expect((await ask('GET', '')).body).toMatchObject([{ name: 'data', attached_to: first.id }])
    expect(await sh(first.id, 'cat /v/file')).toBe('kept')
    await offshoot.delete(first.id)
    const second = await sandbox({ name: 'data', read_only: true })
    expect(await sh(second.id, 'mkdir /v && mount -o ro /dev/vdb /v && cat /v/file')).toBe('kept')
    await offshoot.delete(second.id)
  })

  it(
    'is not shared by a fork of who writes it, which the answer says, and can be copied and grown meanwhile',
    { tags: ['long'] },
    async () => {
      expect(await ask('POST', '', { name: 'shared', size_mb: 64 })).toMatchObject({ status: 201 })
      const parent = await sandbox({ name: 'shared' })
      await sh(parent.id, 'mkdir /v && mount /dev/vdb /v && echo parent > /v/file')
      const forked = await offshoot.request('POST', `/v1/sandboxes/${parent.id}/fork`)
      expect(forked).toMatchObject({
        status: 201,
        body: { volumes: [], warnings: ['volume shared is writable and stays with the parent'] },
      })
      expect(await sh(forked.body.id, 'ls /dev/vd*; cat /v/file 2>/dev/null || echo gone')).toBe('/dev/vda\ngone')
      expect(await ask('POST', '/shared/clone', { name: 'copy' })).toMatchObject({
        status: 201,
        body: { name: 'copy' },
      })
      const { body: snapshot } = await ask('POST', '/shared/snapshots')
      expect(await ask('PATCH', '/shared', { size_mb: 128 })).toMatchObject({ status: 200, body: { size_mb: 128 } })
      expect(Number(await sh(parent.id, 'df -m /v | tail -1 | awk "{print \\$2}"'))).toBeGreaterThan(100)
      expect(await ask('POST', '', { name: 'again', from_snapshot: snapshot.id })).toMatchObject({ status: 201 })
      const reader = await sandbox({ name: 'copy' }, { name: 'again', read_only: true })
      const files = await sh(reader.id, 'mkdir /a /b; mount /dev/vdb /a; mount -o ro /dev/vdc /b; cat /a/file /b/file')
      expect(files).toBe('parent\nparent')
      for (const { id } of [reader, parent, forked.body]) await offshoot.delete(id)
      for (const name of ['shared', 'copy', 'again']) expect((await ask('DELETE', `/${name}`)).status).toBe(204)
      expect((await ask('DELETE', `/shared/snapshots/${snapshot.id}`)).status).toBe(204)
      expect((await ask('GET', '')).body).toEqual([])
    },
  )
})
