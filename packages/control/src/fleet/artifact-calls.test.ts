import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addSnapshot } from '../test/fake-checkpoints.ts'
import { FakeAgent } from '../test/fake-agent.ts'
import { AgentClient } from './agent-client.ts'
import { copyArtifactToHost, isTooOld } from './artifact-calls.ts'
import { SourceFailed } from './stream-calls.ts'

const WORKSPACE = randomUUID()
let home: FakeAgent
let away: FakeAgent
let source: { readonly client: AgentClient; isLost: boolean }
let destination: AgentClient
let id: string

beforeEach(async () => {
  home = await FakeAgent.start()
  away = await FakeAgent.start()
  source = { client: new AgentClient(home, randomUUID()), isLost: false }
  destination = new AgentClient(away, randomUUID())
  const sandbox = { id: randomUUID(), workspace_id: WORKSPACE, template: 'base' }
  id = addSnapshot(home, sandbox, randomUUID(), 'user').id
})
afterEach(async () => {
  for (const client of [source.client, destination]) await client.close()
  await home.kill()
  await away.kill()
})

function copy(withoutMemory = false): Promise<number> {
  const subject = { id, kind: 'snapshot', workspace_id: WORKSPACE, requestId: 'r' } as const
  const signal = new AbortController().signal
  return copyArtifactToHost({ source, destination, subject, withoutMemory, signal })
}

/** An earlier version of an agent. */
async function unknown(step: string) {
  return step.endsWith('-snapshot') ? { status: 404, body: { error: 'not found' } } : undefined
}

describe('a snapshot that control copies to another host', () => {
  it('is on both, with the bake only if that is missing, and may be copied again', async () => {
    const sent = await copy()
    expect(away.state.snapshots.get(id)).toMatchObject({ id, workspace_id: WORKSPACE })
    expect(home.state.snapshots.has(id)).toBe(true)
    away.state.snapshots.delete(id)
    expect(await copy()).toBeLessThan(sent)
    expect(await copy()).toBeGreaterThan(0)
    expect(away.state.withoutMemory.has(id)).toBe(false)
  })

  it('comes without its memory if that is asked for', async () => {
    await copy(true)
    expect(away.state.withoutMemory.has(id)).toBe(true)
  })

  it('comes with its bake after all if the host has removed that meanwhile', async () => {
    away.state.bakes.add(home.state.bake)
    away.onMove = async (step) => {
      if (step === 'import-snapshot') away.onMove = async () => undefined
      if (step === 'import-snapshot') away.state.bakes.clear()
      return undefined
    }
    await copy()
    expect(away.state.snapshots.has(id)).toBe(true)
  })

  it.each(['content-snapshot', 'export-snapshot'])('is not copied if the source refuses %s', async (refused) => {
    home.onMove = async (step) => (step === refused ? { status: 500, body: { error: 'internal' } } : undefined)
    await expect(copy()).rejects.toThrow(SourceFailed)
    expect(away.state.snapshots.size).toBe(0)
  })

  it.each(['content-snapshot', 'export-snapshot'])('is given up if the source is lost at %s', async (silent) => {
    home.onMove = async (step) => {
      if (step !== silent) return undefined
      source.isLost = true
      return new Promise(() => undefined)
    }
    await expect(copy()).rejects.toThrow(SourceFailed)
    expect(away.state.snapshots.size).toBe(0)
  })

  it('is not copied from or to an agent of a version that knows no such routes', async () => {
    home.onMove = unknown
    await expect(copy()).rejects.toThrow('the version of the agent is too old to give snapshots away')
    home.onMove = async () => undefined
    away.onMove = unknown
    const refusal = await copy().catch((error: unknown) => error)
    expect(isTooOld(refusal)).toBe(true)
  })

  it('is not copied if the source does not have it', async () => {
    home.state.snapshots.clear()
    const refusal = await copy().catch((error: unknown) => error)
    expect(refusal).toMatchObject({ name: 'SourceFailed', cause: { status: 404 } })
    expect(isTooOld((refusal as SourceFailed).cause)).toBe(false)
  })
})
