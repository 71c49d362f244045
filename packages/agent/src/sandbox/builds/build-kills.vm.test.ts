/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentBuild } from '@offshoot/contract/agent-build'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { busyboxRoot } from '../../test/busybox-root.ts'
import { tarArchive } from '../../test/tar-archive.ts'
import { TemplateBuilder } from '../../test/template-builder.ts'

/** Number of kills of the agent during builds, spread over the stages. */
const KILL_ROUNDS = Number(process.env['OFFSHOOT_BUILD_KILLS'] ?? 1)
/** Maximum milliseconds between the begin of a stage and the kill. */
const LATEST_KILL_MS = 300
const STAGES: readonly AgentBuild['stage'][] = ['booting', 'unpacking', 'reading', 'freezing']

let agent: AgentProcess
let builder: TemplateBuilder

beforeAll(async () => {
  agent = await AgentProcess.create()
  builder = new TemplateBuilder(agent)
  await agent.start()
})
afterAll(async () => agent.destroy())

const stageOf = async (id: string) => (await builder.get(id)).stage

/** The bakes and templates on disk, by id. */
async function left(): Promise<Record<string, string[]>> {
  const bakes = (await readdir(join(agent.dataDir, 'bakes'))).filter((name) => name !== 'minimal')
  const templates = await readdir(join(agent.dataDir, 'templates'))
  return { bakes: bakes.toSorted(), templates: templates.toSorted() }
}

/** A VM that the killed agent was just starting is found by a later reconciliation. */
const untilNoVm = () => eventually('no VM', async () => (await agent.vms()).length === 0, 60_000)

async function kill(): Promise<void> {
  await agent.stop('SIGKILL')
  await agent.start()
}

it(`an agent that was killed during a build begins it once more (${KILL_ROUNDS} times)`, async () => {
  const rootfs = tarArchive([...(await busyboxRoot()), { name: 'file', content: 'whole' }])
  const done: string[] = []
  for (let round = 0; round < KILL_ROUNDS; round++) {
    const id = await builder.upload(rootfs)
    await builder.begin(id)
    const stage = STAGES[round % STAGES.length] ?? 'booting'
    await eventually(`the stage ${stage}`, async () => [stage, 'done'].includes(await stageOf(id)))
    await delay(Math.random() * LATEST_KILL_MS)
    await kill()
    const build = await builder.untilEnded(id)
    expect(build).toMatchObject({ status: 'done', error: null })
    const { id: sandbox } = await agent.created({}, id)
    expect(await agent.sh(sandbox, 'cat /file')).toBe('whole')
    await agent.delete(sandbox)
    await untilNoVm()
    done.push(id)
    expect(await left()).toEqual({ bakes: done.toSorted(), templates: done.toSorted() })
  }
})

it('a build that was interrupted twice fails, and leaves only its record and log', async () => {
  const before = await left()
  const id = await builder.upload(tarArchive(await busyboxRoot()))
  await builder.begin(id, { ready_cmd: 'false' })
  for (let i = 0; i < 2; i++) {
    await eventually('a boot', async () => (await stageOf(id)) === 'booting')
    await kill()
  }
  expect(await builder.untilEnded(id)).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('interrupted twice'),
  })
  await eventually('no bake of it', async () => JSON.stringify(await left()) === JSON.stringify(before))
  expect((await readdir(join(agent.dataDir, 'builds', id))).toSorted()).toEqual(['build.json', 'log.jsonl'])
  await untilNoVm()
})

it(`an agent that was killed while it made a template of a sandbox leaves a complete one or none (${KILL_ROUNDS} times)`, async () => {
  const before = await left()
  const { id: sandbox } = await agent.created()
  await agent.sh(sandbox, 'echo whole > /file')
  for (let round = 0; round < KILL_ROUNDS; round++) {
    const id = randomUUID()
    const body = { id, name: 'mine', memory: round % 2 === 1 }
    const answered = agent.call('POST', `/v1/sandboxes/${sandbox}/template`, { body }).catch(() => 'cut')
    await delay(Math.random() * LATEST_KILL_MS)
    await kill()
    await answered
    const build = (await builder.list()).find((each) => each.id === id)
    if (build !== undefined) {
      expect(await builder.untilEnded(id)).toMatchObject({ status: 'done', error: null })
      const { id: made } = await agent.created({}, id)
      expect(await agent.sh(made, 'cat /file')).toBe('whole')
      await agent.delete(made)
    }
    await agent.call('DELETE', `/v1/templates/${id}`)
    await eventually('nothing of it', async () => JSON.stringify(await left()) === JSON.stringify(before))
    expect(await readdir(join(agent.dataDir, 'snapshots'))).toEqual([])
    expect(await agent.sh(sandbox, 'cat /file')).toBe('whole')
  }
  await agent.delete(sandbox)
  await untilNoVm()
})

it('an upload without a build is deleted at the next start of the agent', async () => {
  const id = await builder.upload(Buffer.from('x'))
  await kill()
  expect(await readdir(join(agent.dataDir, 'builds'))).not.toContain(id)
})
