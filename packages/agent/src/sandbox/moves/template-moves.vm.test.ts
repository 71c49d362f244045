/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { NO_TEMPLATE } from '@offshoot/contract/agent-move'
import { snapshotHeader, templateHeader, type TemplateHeader } from '@offshoot/contract/move-stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually, OTHER_WORKSPACE } from '../../test/agent-process.ts'
import { withHeader } from '../../test/moving.ts'
import { arriveSnapshot } from '../../test/moving-snapshots.ts'
import {
  arriveTemplate,
  exportedTemplate,
  listedTemplates,
  openTemplate,
  templateOf,
} from '../../test/moving-templates.ts'

let [home, away]: AgentProcess[] = []
/** A template without memory, and its stream. */
let id: string
let stream: Buffer

beforeAll(async () => {
  home = await AgentProcess.create()
  away = await AgentProcess.create()
  await Promise.all([home.start(), away.start()])
  id = await built(home)
  stream = await exportedTemplate(home, id)
})
afterAll(async () => {
  await home?.destroy()
  await away?.destroy()
})

function agents(): { readonly home: AgentProcess; readonly away: AgentProcess } {
  if (home === undefined || away === undefined) throw new Error('the agents do not run')
  return { home, away }
}

/** A template with a file, and with a process that runs in every sandbox. */
async function built(on: AgentProcess, memory = false): Promise<string> {
  const sandbox = await on.created({})
  await on.sh(sandbox.id, 'echo kept > /root/file; echo remembered > /run/memory')
  await on.sh(sandbox.id, 'sleep 100000 >/dev/null 2>&1 & echo $!')
  return templateOf(on, sandbox.id, { memory, ...(!memory && { start_cmd: 'exec sleep 2000' }) })
}

const LOOK = `cat /root/file /run/memory 2>/dev/null; ps | grep -o '[s]leep [0-9]*'`

/** What a sandbox of the template has. */
async function look(on: AgentProcess, template: string): Promise<string> {
  const sandbox = await on.created({}, template)
  const seen = await on.sh(sandbox.id, LOOK)
  await on.delete(sandbox.id)
  return seen
}

async function remains({ dataDir }: AgentProcess, template: string): Promise<string[]> {
  const list = async (name: string) => ((await readdir(join(dataDir, name))).includes(template) ? [name] : [])
  return (await Promise.all(['arrivals', 'templates', 'snapshots', 'bakes'].map(list))).flat()
}

/** Removes the template from one of the agents. */
async function removed(on: AgentProcess, template: string): Promise<void> {
  expect((await on.call('DELETE', `/v1/templates/${template}`)).status).toBe(204)
  await eventually('nothing is left', async () => (await remains(on, template)).length === 0)
}

describe('a template that another host gets', () => {
  it('is baked there, and is the same after a kill', async () => {
    const { home, away } = agents()
    const content = await home.call('GET', `/v1/templates/${id}/content`)
    expect(content.body).toMatchObject({ bake: null, has_memory: false, bytes: expect.any(Number) })
    expect(await arriveTemplate(away, id, stream)).toMatchObject({ status: 200, body: { id } })
    expect(await arriveTemplate(away, id, Buffer.from('already there'))).toMatchObject({ status: 200, body: { id } })
    expect((await arriveTemplate(away, id, stream, OTHER_WORKSPACE)).status).toBe(409)
    expect((await remains(away, id)).toSorted()).toEqual(['bakes', 'templates'])
    await away.stop('SIGKILL')
    await away.start()
    expect(await listedTemplates(away)).toEqual([id])
    expect(await look(away, id)).toBe('kept\nsleep 2000')
    const again = await withHeader(await exportedTemplate(away, id), (header) => header, templateHeader)
    expect(again.length).toBeGreaterThan(stream.length / 2)
    await removed(away, id)
  })

  it('continues there from the memory that it has', async () => {
    const { home, away } = agents()
    const withMemory = await built(home, true)
    const moving = await exportedTemplate(home, withMemory)
    const asSnapshot = await withHeader(moving, ({ template: _template, ...header }) => header, snapshotHeader)
    expect((await arriveSnapshot(away, withMemory, asSnapshot)).status).toBe(400)
    expect((await arriveTemplate(away, withMemory, moving)).status).toBe(200)
    await away.stop('SIGKILL')
    await away.start()
    expect(await listedTemplates(away)).toEqual([withMemory])
    for (const on of [home, away]) {
      expect(await look(on, withMemory)).toBe('kept\nremembered\nsleep 100000')
      await removed(on, withMemory)
    }
  })

  it('is refused if it is damaged or foreign, or cannot be baked', async () => {
    const { away } = agents()
    const half = stream.subarray(0, stream.length / 2)
    const flipped = Buffer.from(stream)
    flipped.writeUInt8(flipped.readUInt8(half.length) ^ 1, half.length)
    const changed = (change: (header: TemplateHeader) => TemplateHeader) => withHeader(stream, change, templateHeader)
    const foreign = await changed((header) => ({
      ...header,
      template: { ...header.template, workspace_id: randomUUID() },
    }))
    const other = await changed((header) => ({
      ...header,
      files: header.files.map((file) => ({ ...file, sha256: '0'.repeat(64) })),
    }))
    for (const damaged of [half, flipped, foreign, other, Buffer.from('nothing')]) {
      expect(await arriveTemplate(away, id, damaged)).toMatchObject({ status: 400 })
    }
    expect((await arriveTemplate(away, id, stream, null)).status).toBe(400)
    expect((await arriveTemplate(away, id, stream, OTHER_WORKSPACE)).status).toBe(400)
    const large = await changed((header) => ({ ...header, disk_bytes: 2 ** 50 }))
    expect((await arriveTemplate(away, id, large)).status).toBe(507)
    const unbakable = await changed((header) => ({
      ...header,
      template: { ...header.template, image: { ...header.template.image, start_cmd: 'exit 3' } },
    }))
    const detail = expect.stringMatching(/^the template cannot be baked: .*3/)
    expect(await arriveTemplate(away, id, unbakable)).toMatchObject({ status: 500, body: { detail } })
    await eventually('nothing is left', async () => (await remains(away, id)).length === 0)
  })

  it('is there completely or not at all if it is interrupted', async () => {
    const { away } = agents()
    const half = stream.subarray(0, stream.length / 2)
    const arriving = join(away.dataDir, 'arrivals')
    const begun = () => eventually('a half import', async () => (await readdir(arriving)).length > 0)
    const interrupted = arriveTemplate(away, id, unfinished(half)).catch(() => null)
    await begun()
    expect(await arriveTemplate(away, id, stream)).toMatchObject({ status: 409 })
    await away.stop('SIGKILL')
    await interrupted
    await away.start()
    expect([await remains(away, id), await listedTemplates(away)]).toEqual([[], []])
    const cancelled = arriveTemplate(away, id, unfinished(half))
    await begun()
    expect((await away.call('DELETE', `/v1/templates/${id}`, { workspace: OTHER_WORKSPACE })).status).toBe(204)
    expect((await away.call('DELETE', `/v1/templates/${id}`)).status).toBe(204)
    expect(await cancelled).toMatchObject({ status: 404 })
    expect(await remains(away, id)).toEqual([])
  })

  it('is given to control alone, and only the template of its credential', async () => {
    const { home } = agents()
    for (const path of [`${id}/content`, `${id}/export`]) {
      const foreign = await home.call('GET', `/v1/templates/${path}`, { workspace: OTHER_WORKSPACE })
      expect(foreign).toMatchObject({ status: 404, body: { detail: NO_TEMPLATE } })
      expect((await fetch(`${home.url}/v1/templates/${path}`)).status).toBe(401)
    }
    expect(await home.call('GET', `/v1/templates/${randomUUID()}/content`)).toMatchObject({ status: 404 })
    expect(await home.call('GET', '/v1/templates/x/content')).toMatchObject({ status: 404 })
    expect((await openTemplate(home, id, 'only=bake')).status).toBe(400)
    expect((await openTemplate(home, id, 'only=disk')).status).toBe(400)
  })
})

/** A body that never ends. */
function unfinished(content: Buffer): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(content)) })
}
