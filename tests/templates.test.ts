import { busyboxRoot } from '@offshoot/agent/test/busybox-root'
import { tarArchive } from '@offshoot/agent/test/tar-archive'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { openEvents } from './setup/event-stream.ts'
import { emptyWorkspace } from './setup/empty-workspace.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

const BUILD_MS = 60_000
const FIELDS = { name: 'web', size_mb: '64', memory_mb: '128', start_cmd: 'exec httpd -f -p 80 -h /www' }

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
// Also cleans up before a retry.
beforeEach(() => emptyWorkspace(offshoot))
afterAll(giveBack)

async function build(
  fields: Record<string, string>,
): Promise<{ status: number; body: { id: string; error?: string } }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  const page = { name: 'www/index.html', content: fields['start_cmd'] ?? '' }
  form.set('rootfs', new Blob([new Uint8Array(tarArchive([...(await busyboxRoot()), page]))]), 'image.tar')
  const { base_url: baseUrl, api_key: key } = offshoot.credentials
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${baseUrl}/v1/templates/build`, { method: 'POST', headers, body: form })
  return { status: response.status, body: (await response.json()) as { id: string } }
}

const ended = (build: string) =>
  until(
    'the end of the build',
    async () => (await offshoot.request('GET', `/v1/builds/${build}`)).body.ended_at,
    BUILD_MS,
  )

it('a template is built from an archive, followed, made sandboxes from and deleted', async () => {
  const first = await build(FIELDS)
  expect(first).toMatchObject({ status: 202, body: { name: 'web', size_mb: 64 } })
  const events = await (await openEvents(offshoot, 'GET', `/v1/builds/${first.body.id}/logs?follow=1`)).rest()
  expect(events.at(-1)).toMatchObject({ event: 'done', data: { status: 'done', error: null } })
  const percents = events.filter(({ event }) => event === 'line').map(({ data }) => data.percent)
  expect(percents).toEqual(percents.toSorted((a, b) => a - b))
  expect(await offshoot.request('GET', `/v1/builds/${first.body.id}`)).toMatchObject({ body: { status: 'done' } })
  expect(await offshoot.request('GET', '/v1/templates/web')).toMatchObject({
    body: { is_global: false, meta: { start_cmd: FIELDS.start_cmd, image_digest: expect.stringMatching(/^sha256:/) } },
  })
  const sandbox = await offshoot.create({ template: 'web' })
  expect(sandbox).toMatchObject({ template: 'web', memory_mb: 128, boot_mode: 'snapshot' })
  // Its server was started once, during the bake.
  await until('its server', async () =>
    (await offshoot.request('GET', `/v1/sandboxes/${sandbox.id}/ports`)).body.some(
      ({ port, listening }: { port: number; listening: boolean }) => port === 80 && listening,
    ),
  )
  expect((await build(FIELDS)).status).toBe(409)
  expect((await offshoot.request('DELETE', '/v1/templates/web')).status).toBe(204)
  expect((await offshoot.request('POST', '/v1/sandboxes', { body: { template: 'web' } })).status).toBe(404)
  expect((await offshoot.request('DELETE', '/v1/templates/minimal')).status).toBe(403)
  expect((await offshoot.exec(sandbox.id, 'cat /www/index.html')).stdout).toBe(FIELDS.start_cmd)
})

it('a template that is replaced stays that of the sandboxes made from it', { tags: ['long'] }, async () => {
  const fields = { ...FIELDS, name: 'replaced' }
  const first = await build(fields)
  await ended(first.body.id)
  const sandbox = await offshoot.create({ template: 'replaced' })
  const second = await build({ ...fields, start_cmd: '', replace: 'true' })
  await ended(second.body.id)
  expect(
    (await offshoot.request('GET', '/v1/templates/replaced/builds')).body.map(({ id }: { id: string }) => id),
  ).toEqual([second.body.id, first.body.id])
  const fork = await offshoot.request('POST', `/v1/sandboxes/${sandbox.id}/fork`)
  expect(fork).toMatchObject({ status: 201, body: { template: 'replaced' } })
  expect((await offshoot.exec(fork.body.id, 'cat /www/index.html')).stdout).toBe(fields.start_cmd)
  const { id } = await offshoot.create({ template: 'replaced' })
  expect((await offshoot.exec(id, 'cat /www/index.html')).stdout).toBe('')
  expect((await offshoot.request('DELETE', '/v1/templates/replaced')).status).toBe(204)
  await offshoot.killService('agent')
  expect((await offshoot.exec(sandbox.id, 'echo on')).stdout).toBe('on\n')
})

it('a template of a sandbox has its disk, or its disk and its processes', { tags: ['long'] }, async () => {
  const { id } = await offshoot.create({ template: 'minimal' })
  const counting = 'i=0; while :; do i=$((i + 1)); echo $i > /tmp/count; sleep 0.1; done'
  await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: { cmd: counting, background: true } })
  await offshoot.exec(id, 'echo kept > /etc/kept; sync')
  const make = async (name: string, memory: boolean) => {
    const { status, body } = await offshoot.request('POST', `/v1/sandboxes/${id}/template`, { body: { name, memory } })
    expect([status, body.name]).toEqual([202, name])
    const ended = async () => (await offshoot.request('GET', `/v1/builds/${body.id}`)).body
    const over = await until('the template', async () => ((await ended()).ended_at ? ended() : null), BUILD_MS)
    expect([over.status, over.error]).toEqual(['done', null])
    return (await offshoot.create({ template: name })).id
  }
  const count = async (of: string) => Number((await offshoot.exec(of, 'cat /tmp/count || echo 0')).stdout)
  // The program truncates the file before it writes each number.
  const number = (of: string) => until('a number', () => count(of))
  const isCounting = async (of: string) => {
    const before = await number(of)
    return until('the next number', async () => (await count(of)) > before)
  }
  const [disk, memory] = [await make('of-disk', false), await make('of-memory', true)]
  for (const made of [disk, memory]) expect((await offshoot.exec(made, 'cat /etc/kept')).stdout).toBe('kept\n')
  expect(await isCounting(memory)).toBe(true)
  expect(await isCounting(id)).toBe(true)
  expect((await offshoot.exec(disk, 'ps | grep -c "[w]hile"')).stdout).toBe('0\n')
})
