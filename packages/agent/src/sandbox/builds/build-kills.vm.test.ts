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

/** Kills of the agent while it builds, spread over the stages. */
const KILL_ROUNDS = Number(process.env['OFFSHOOT_BUILD_KILLS'] ?? 2)
/** Milliseconds into a stage at which the latest kill comes. */
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

/** What is on disk of builds and templates, by their ids. */
async function left(): Promise<Record<string, string[]>> {
  const bakes = (await readdir(join(agent.dataDir, 'bakes'))).filter((name) => name !== 'minimal')
  const templates = await readdir(join(agent.dataDir, 'templates'))
  return { bakes: bakes.toSorted(), templates: templates.toSorted() }
}

/** What an agent was about to start when it was killed is found by a later look. */
const untilNoVm = () => eventually('no VM', async () => (await agent.vms()).length === 0, 60_000)

async function kill(): Promise<void> {
  await agent.stop('SIGKILL')
  await agent.start()
}

it(`an agent that is killed in the middle of a build begins it again once (${KILL_ROUNDS} times)`, async () => {
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

it('interrupted twice, a build has failed, and leaves nothing but its log', async () => {
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

it(`killed while it makes a template of a sandbox, an agent leaves one that is whole or none (${KILL_ROUNDS} times)`, async () => {
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

it('an upload that nobody has begun goes with its agent', async () => {
  const id = await builder.upload(Buffer.from('x'))
  await kill()
  expect(await readdir(join(agent.dataDir, 'builds'))).not.toContain(id)
})
