/** @module-tag long */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import type { AgentVolume, AgentVolumeList } from '@offshoot/contract/agent-volume'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually, WORKSPACE } from '../../test/agent-process.ts'

const run = promisify(execFile)
/** Number of kills during each operation. */
const KILL_ROUNDS = Number(process.env['OFFSHOOT_VOLUME_KILLS'] ?? 1)
/** Number of kills while a program writes and syncs. */
const WRITER_ROUNDS = Number(process.env['OFFSHOOT_VOLUME_WRITER_KILLS'] ?? 4)
/** Maximum milliseconds between the begin of an operation and the kill. */
const LATEST_KILL_MS = 60
const CONTENT = 'what nothing may change'

let agent: AgentProcess

beforeAll(async () => {
  agent = await AgentProcess.create()
  await agent.start()
})
afterAll(async () => agent.destroy())

const folder = () => join(agent.dataDir, 'volumes')
const dataOf = (id: string) => join(folder(), id, 'data')
const list = async () => (await agent.call<AgentVolumeList>('GET', '/v1/volumes')).body.volumes
const post = (body: object) =>
  agent.call<AgentVolume>('POST', '/v1/volumes', { body: { name: 'data', size_mb: 64, ...body } })
const remove = (id: string) => agent.call('DELETE', `/v1/volumes/${id}`)

async function sandboxWith(volume: string): Promise<string> {
  const body = { id: randomUUID(), template: 'minimal', env: {}, volumes: [{ id: volume, read_only: false }] }
  const { status, body: made } = await agent.call<AgentSandbox>('POST', '/v1/sandboxes', { body })
  expect({ status, made }).toMatchObject({ status: 201 })
  return made.id
}

async function sh(id: string, cmd: string): Promise<string> {
  const { status, body } = await agent.exec(id, { cmd })
  if (status !== 200 || body.exit_code !== 0) throw new Error(`${cmd}: ${status} ${JSON.stringify(body)}`)
  return body.stdout.trim()
}

/** The content of a volume that no sandbox has. Fails if its file system is damaged. */
async function contentOf(id: string): Promise<string> {
  await run('e2fsck', ['-fn', dataOf(id)])
  return (await run('debugfs', ['-R', 'cat /file', dataOf(id)])).stdout.trim()
}

describe('an agent that is killed', { tags: 'only-once' }, () => {
  const operations: Record<string, (source: string) => Promise<unknown>> = {
    'makes a volume': async () => post({ id: randomUUID() }),
    'copies one': async (source) => post({ id: randomUUID(), from: source, size_mb: 512 }),
    'grows one': async (source) => agent.call('PATCH', `/v1/volumes/${source}`, { body: { size_mb: 512 } }),
    'deletes one': async (source) => remove(source),
  }

  it.each(Object.keys(operations))(`while it %s leaves whole volumes or none (${KILL_ROUNDS} times)`, async (name) => {
    for (let round = 0; round < KILL_ROUNDS; round++) {
      const { body: source } = await post({ id: randomUUID(), size_mb: 64 })
      const writer = await sandboxWith(source.id)
      await sh(writer, `mkdir /v && mount /dev/vdb /v && echo ${CONTENT} > /v/file && umount /v`)
      await agent.delete(writer)
      const answered = operations[name]?.(source.id).catch(() => 'cut')
      await delay(Math.random() * LATEST_KILL_MS)
      await agent.stop('SIGKILL')
      await answered
      await agent.start()
      const kept = await list()
      expect((await readdir(folder())).toSorted()).toEqual(kept.map(({ id }) => id).toSorted())
      await eventually('no tool of a dead agent', async () => {
        const { stdout } = await run('pgrep', ['-fa', 'e2fsck|resize2fs|mke2fs']).catch(() => ({ stdout: '' }))
        return !kept.some(({ id }) => stdout.includes(id))
      })
      if (name !== 'deletes one') expect(kept.map(({ id }) => id)).toContain(source.id)
      for (const { id } of kept) {
        // The agent finishes an interrupted growth for the next sandbox.
        const reader = await sandboxWith(id)
        const seen = await sh(
          reader,
          'mkdir /v && mount /dev/vdb /v && cat /v/file 2>/dev/null || echo empty; umount /v',
        )
        await agent.delete(reader)
        expect(seen).toBe(name === 'makes a volume' && id !== source.id ? 'empty' : CONTENT)
        if (seen === CONTENT) expect(await contentOf(id)).toBe(CONTENT)
        expect((await remove(id)).status).toBe(204)
      }
    }
  })
})

/** Appends numbered records with checksums. Prints the number of a record after it has synced it. */
const WRITER = `
i=$(wc -l < /v/log); while :; do i=$((i+1)); echo "$i $(echo record $i | sha256sum | cut -c1-64)" >> /v/log && sync /v/log && echo $i; done`

/** Runs the writer until its VM dies. @returns a function that returns the last number that it has printed */
async function startWriter(id: string): Promise<() => number> {
  let last = 0
  const response = await fetch(`${agent.url}/v1/sandboxes/${id}/exec/stream`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await agent.token(WORKSPACE)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ cmd: WRITER }),
  })
  const read = async () => {
    let text = ''
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString()
      for (const [, chunk = ''] of text.matchAll(/event: stdout\ndata: (.*)\n\n/g)) {
        const lines = (JSON.parse(chunk) as { chunk: string }).chunk.split('\n').filter((line) => /^\d+$/.test(line))
        last = Math.max(last, ...lines.map(Number))
      }
      text = text.slice(text.lastIndexOf('\n\n') + 2)
    }
  }
  read().catch(() => undefined)
  return () => last
}

function verify(log: string): number {
  // The last record may not have been synced.
  const lines = log.split('\n').filter((line) => line !== '')
  let whole = 0
  for (const [index, line] of lines.entries()) {
    const sha256 = createHash('sha256')
      .update(`record ${index + 1}\n`)
      .digest('hex')
    if (line !== `${index + 1} ${sha256}`) break
    whole++
  }
  return whole
}

describe('a program that syncs what it writes', { tags: 'only-once' }, () => {
  it(`finds all records that it reported, whenever its VM, or the agent too, is killed (${WRITER_ROUNDS} times)`, async () => {
    const { body: volume } = await post({ id: randomUUID() })
    let told = 0
    for (let round = 0; round < WRITER_ROUNDS; round++) {
      const id = await sandboxWith(volume.id)
      await sh(id, 'mkdir /v && mount /dev/vdb /v && touch /v/log')
      const found = verify(await sh(id, 'cat /v/log'))
      expect(found).toBeGreaterThanOrEqual(told)
      await sh(id, `head -n ${found} /v/log > /v/new; sync; mv /v/new /v/log; sync`)
      const lastTold = await startWriter(id)
      await eventually('a few records', async () => lastTold() >= found + 3)
      await delay(Math.random() * LATEST_KILL_MS)
      const vm = (await agent.vms()).find((each) => each.folder.includes(id))
      if (round % 3 === 2) await agent.stop('SIGKILL')
      process.kill(vm?.process.pid ?? 0, 'SIGKILL')
      told = lastTold()
      if (round % 3 === 2) await agent.start()
      await agent.delete(id)
    }
    expect((await remove(volume.id)).status).toBe(204)
  })
})
