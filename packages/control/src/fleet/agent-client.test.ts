/** @module-tag faults */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../test/fake-agent.ts'
import { eventually } from '../test/harness.ts'
import { AgentClient } from './agent-client.ts'

const MAX_EXECS = 2_048

describe('connections to an agent', () => {
  let agent: FakeAgent
  let client: AgentClient
  let ran = 0
  const released = Promise.withResolvers<void>()

  beforeAll(async () => {
    agent = await FakeAgent.start()
    client = new AgentClient(agent, randomUUID())
    agent.addSandbox('x', 'greedy')
    agent.addSandbox('y', 'modest')
    agent.onExec = async ({ cmd }) => {
      ran += 1
      if (cmd === 'wait') await released.promise
      return { status: 200, body: { stdout: '', stderr: '', exit_code: 0, duration_ms: 1 } }
    }
  })

  afterAll(async () => {
    await client.close()
    await agent.kill()
  })

  const exec = async (workspaceId: string, cmd: string) => {
    const signal = new AbortController().signal
    const { statusCode, body } = await client.exec(
      workspaceId === 'greedy' ? 'x' : 'y',
      workspaceId,
      'r',
      JSON.stringify({ cmd }),
      signal,
    )
    await body.dump()
    return statusCode
  }

  it('are never all of one workspace, and the agent’s own count for none', async () => {
    const all = Array.from({ length: MAX_EXECS }, () => exec('greedy', 'wait').catch((error: unknown) => error))
    await eventually(() => ran === MAX_EXECS / 2)
    expect(await Promise.race(all)).toMatchObject({ kind: 'tooManyConnections', status: 429 })
    expect(await exec('modest', 'true')).toBe(200)
    expect((await client.info('r')).agent_id).toBe(agent.state.agentId)
    released.resolve()
    const answers = await Promise.all(all)
    expect(answers.filter((each) => each === 200)).toHaveLength(MAX_EXECS / 2)
    expect(await exec('greedy', 'true')).toBe(200)
  })
})
