/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentBuild } from '@offshoot/contract/agent-build'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually, OTHER_WORKSPACE } from '../../test/agent-process.ts'
import { TemplateBuilder } from '../../test/template-builder.ts'

let agent: AgentProcess
let builder: TemplateBuilder

beforeAll(async () => {
  agent = await AgentProcess.create()
  builder = new TemplateBuilder(agent)
  await agent.start()
})
afterAll(async () => agent.destroy())

const ask = (sandbox: string, more: Record<string, unknown> = {}, workspace?: string) => {
  const body = { id: randomUUID(), name: 'mine', memory: false, ...more }
  const call = { body, ...(workspace !== undefined && { workspace }) }
  return agent.call<AgentBuild>('POST', `/v1/sandboxes/${sandbox}/template`, call)
}

/** Makes a template from a sandbox. @returns its id */
async function made(sandbox: string, more: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await ask(sandbox, more)
  expect({ status, body }).toMatchObject({ status: 202, body: { status: expect.any(String), size_mb: 64 } })
  const build = await builder.untilEnded(body.id)
  if (build.error !== null) throw new Error(`${build.error}\n${agent.log.slice(-4000)}`)
  expect(build).toMatchObject({ status: 'done', percent: 100, template: { name: 'mine', memory_mb: 128 } })
  return body.id
}

const names = async (folder: string) => (await readdir(join(agent.dataDir, folder))).toSorted()

/** Retries, because a restarted agent may bake the template again and refuses creates meanwhile. */
const createdSoon = (template: string) =>
  eventually(`a sandbox of ${template}`, async () => {
    const { status, body } = await agent.create(undefined, {}, template)
    return status === 201 && body.id
  })

describe('a template of a disk', () => {
  it('has the files of the sandbox but not its processes and variables, and can be the base of another template', async () => {
    const { id } = await agent.created({ SECRET: 'of the sandbox' })
    await agent.sh(
      id,
      'echo first > /kept; mkdir -p /deep/er; ln -s /kept /deep/er/link; sleep 1000 > /dev/null 2>&1 &',
    )
    const first = await made(id, { start_cmd: 'echo booted > /run/booted; exec sleep 2000' })
    await agent.sh(id, 'echo later > /kept')
    await agent.delete(id)
    const { id: child } = await agent.created({}, first)
    const look = 'cat /kept /deep/er/link /run/booted; pidof sleep | wc -w; echo $SECRET'
    expect(await agent.sh(child, look)).toBe('first\nfirst\nbooted\n1')
    await agent.sh(child, 'echo second >> /kept')
    await agent.act(child, 'hibernate')
    // The agent wakes a hibernated sandbox for it. The new template inherits the start command.
    const second = await made(child)
    await agent.delete(child)
    expect(await agent.call('DELETE', `/v1/templates/${first}`)).toMatchObject({ status: 204 })
    await eventually('no bake of the first', async () => !(await names('bakes')).includes(first))
    await agent.stop('SIGKILL')
    await agent.start()
    const last = await createdSoon(second)
    expect(await agent.sh(last, 'cat /kept; pidof sleep | wc -w')).toBe('first\nsecond\n1')
    const { children, snapshot } = await agent.forked(last)
    expect(await agent.sh(children[0]?.id ?? '', 'cat /kept')).toBe('first\nsecond')
    expect((await builder.get(second)).template?.meta).toMatchObject({
      has_memory: false,
      image_digest: expect.any(String),
    })
    for (const sandbox of [last, children[0]?.id ?? '']) await agent.delete(sandbox)
    for (const path of [`snapshots/${snapshot.id}`, `templates/${second}`])
      expect(await agent.call('DELETE', `/v1/${path}`)).toMatchObject({ status: 204 })
    await eventually('no bake of the second', async () => !(await names('bakes')).includes(second))
    expect(await names('templates')).toEqual([])
  })

  it('is not made if its start command fails, and leaves nothing behind', async () => {
    const { id } = await agent.created({})
    const { body } = await ask(id, { start_cmd: 'echo why; exit 3' })
    expect(await builder.untilEnded(body.id)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^booting: start_cmd exited with 3: why/),
    })
    await eventually('its files gone', async () => (await names(`builds/${body.id}`)).join() === 'build.json,log.jsonl')
    expect(await names('bakes')).not.toContain(body.id)
    await agent.delete(id)
    expect(await agent.vms()).toEqual([])
  })
})

describe('a template with memory', () => {
  it('continues from the state of the sandbox, until the template and its sandboxes are deleted', async () => {
    const { id } = await agent.created({ GIVEN: 'once' })
    await agent.sh(id, 'echo in memory > /dev/shm/kept; sleep 3000 > /dev/null 2>&1 & echo on disk > /kept')
    const template = await made(id, { memory: true })
    await agent.delete(id)
    expect((await builder.get(template)).template).toMatchObject({
      rootfs_path: `snapshots/${template}`,
      meta: { has_memory: true, fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/) },
    })
    await agent.stop('SIGKILL')
    await agent.start()
    const child = await createdSoon(template)
    expect(await agent.sh(child, 'cat /dev/shm/kept /kept; pidof sleep | wc -w; echo $GIVEN')).toBe(
      'in memory\non disk\n1\nonce',
    )
    expect((await agent.call('GET', `/v1/sandboxes/${child}`)).body).toMatchObject({
      template: 'mine',
      from_snapshot: null,
    })
    expect(
      (await agent.call<{ snapshots: unknown[] }>('GET', '/v1/snapshots', { workspace: null })).body.snapshots,
    ).toEqual([])
    await agent.act(child, 'hibernate')
    expect(await agent.call('DELETE', `/v1/templates/${template}`)).toMatchObject({ status: 204 })
    expect(await agent.create(undefined, {}, template)).toMatchObject({ status: 404 })
    expect(await agent.sh(child, 'cat /kept')).toBe('on disk')
    await agent.delete(child)
    expect(await names('snapshots')).toEqual([])
    await eventually('no layer', async () => (await names('layers')).length === 0)
  })
})

it('refuses to make a template of a sandbox that is unknown, another workspace’s, or paused', async () => {
  const { id } = await agent.created({})
  expect(await ask(randomUUID())).toMatchObject({ status: 404 })
  expect(await ask(id, {}, OTHER_WORKSPACE)).toMatchObject({ status: 404 })
  expect(await ask(id, { id: 'no id' })).toMatchObject({ status: 400 })
  const { body } = await ask(id, { memory: true })
  expect(await ask(id, { id: body.id })).toMatchObject({ status: 409 })
  await agent.act(id, 'pause')
  for (const memory of [true, false]) expect(await ask(id, { memory })).toMatchObject({ status: 409 })
  await agent.delete(id)
  await builder.untilEnded(body.id)
  await agent.call('DELETE', `/v1/templates/${body.id}`)
  expect([await names('snapshots'), await names('templates')]).toEqual([[], []])
})
