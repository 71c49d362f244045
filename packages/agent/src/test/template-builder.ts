import { randomUUID } from 'node:crypto'
import type { AgentBuild, AgentBuildList } from '@offshoot/contract/agent-build'
import { expect } from 'vitest'
import { eventually, WORKSPACE, type AgentProcess } from './agent-process.ts'

/** Milliseconds for the largest build of a test. */
const BUILD_MS = 150_000

/** Builds templates on an agent, as control does. */
export class TemplateBuilder {
  readonly agent: AgentProcess

  constructor(agent: AgentProcess) {
    this.agent = agent
  }

  async list(): Promise<AgentBuild[]> {
    return (await this.agent.call<AgentBuildList>('GET', '/v1/builds')).body.builds
  }

  async get(id: string): Promise<AgentBuild> {
    return (await this.agent.call<AgentBuild>('GET', `/v1/builds/${id}`)).body
  }

  async upload(rootfs: Buffer, id: string = randomUUID()): Promise<string> {
    const response = await fetch(`${this.agent.url}/v1/builds/${id}/rootfs`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${await this.agent.token(WORKSPACE)}` },
      body: new Uint8Array(rootfs),
    })
    expect([response.status, await response.json()]).toEqual([201, { bytes: rootfs.length }])
    return id
  }

  begin(id: string, more: Record<string, unknown> = {}) {
    const body = { id, name: 'mine', size_mb: 64, cpu: 1, memory_mb: 128, ...more }
    return this.agent.call<AgentBuild & { error: string }>('POST', '/v1/builds', { body })
  }

  /** Builds an archive and waits until the build has succeeded or failed. @throws Error on an internal error of the agent */
  async ended(rootfs: Buffer, more: Record<string, unknown> = {}): Promise<AgentBuild> {
    const id = await this.upload(rootfs)
    expect(await this.begin(id, more)).toMatchObject({ status: 202, body: { id } })
    const build = await this.untilEnded(id)
    if (build.error?.includes('the service failed') === true) throw new Error(this.agent.log.slice(-4000))
    return build
  }

  /** @throws Error with the end of the agent's log if it takes too long */
  async untilEnded(id: string): Promise<AgentBuild> {
    const ended = eventually(
      'the end of a build',
      async () => {
        const build = await this.get(id)
        return build.ended_at !== null && build
      },
      BUILD_MS,
    )
    return ended.catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.agent.log.slice(-4000)}`, { cause: error })
    })
  }

  /** The whole log, as server-sent events. */
  async log(id: string): Promise<string> {
    const response = await this.agent.open(`/v1/builds/${id}/logs?follow=1`, AbortSignal.timeout(10_000))
    return response.text()
  }
}
