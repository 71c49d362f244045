import { randomUUID } from 'node:crypto'
import type { SandboxId, VolumeId, WorkspaceId } from '@offshoot/contract/ids'
import { execBody } from '@offshoot/contract/exec'
import { pino } from 'pino'
import { startAgent } from '../agent.ts'
import { type Agent } from '../sandbox/agent.ts'
import { createSandbox, type CreateRequest } from '../sandbox/lifecycle/create.ts'
import { deleteSandbox } from '../sandbox/lifecycle/delete.ts'
import { execInSandbox } from '../sandbox/commands/exec.ts'
import type { Host } from '../sandbox/model/host.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { seedOfTemplate, type Seed } from '../sandbox/pool/seed.ts'
import { loadConfig } from '../load-config.ts'
import { makeVolume } from '../sandbox/volumes/make-volume.ts'
import type { VolumeRecord } from '../store/volumes/volume-record.ts'
import { AgentProcess, WORKSPACE } from './agent-process.ts'

const WORKSPACE_ID = WORKSPACE as WorkspaceId

/**
 * An agent without an HTTP server, in the test's own process, for faults that a test cannot inject from outside. Only one per
 * process, because it changes the working directory.
 */
export class AgentInside {
  /** The data directory's `AgentProcess`, which is not started. */
  readonly place: AgentProcess
  readonly #agent: Agent
  readonly #stopping: AbortController

  private constructor(place: AgentProcess, agent: Agent, stopping: AbortController) {
    this.place = place
    this.#agent = agent
    this.#stopping = stopping
  }

  static async start(place?: AgentProcess): Promise<AgentInside> {
    const folder = place ?? (await AgentProcess.create())
    const stopping = new AbortController()
    const agent = await startAgent(await loadConfig([folder.configPath]), pino({ level: 'silent' }), stopping.signal)
    return new AgentInside(folder, agent, stopping)
  }

  get host(): Host {
    return this.#agent.host
  }

  /** Creates a sandbox. @param change of the template's fields in the manifest */
  async created(change: Partial<Seed['manifest']> = {}, volumes: CreateRequest['volumes'] = []): Promise<Sandbox> {
    const template = this.#agent.templates.get('minimal')
    if (template === undefined) throw new Error('minimal is not baked')
    const seed = seedOfTemplate(template)
    return createSandbox(this.host, {
      id: randomUUID() as SandboxId,
      workspaceId: WORKSPACE_ID,
      seed: { ...seed, manifest: { ...seed.manifest, ...change } },
      env: {},
      settings: {
        persistent: false,
        idle_timeout_seconds: 600,
        egress: 'internet',
        visibility: 'public',
        limits: null,
      },
      lineage: { parent_id: null, fork_tree_id: null },
      volumes,
    })
  }

  async volume(): Promise<VolumeRecord> {
    return makeVolume(this.host.store, {
      id: randomUUID() as VolumeId,
      workspace_id: WORKSPACE_ID,
      name: 'data',
      size_mb: 32,
      is_growing: false,
      was_attached: false,
      created_at: new Date().toISOString(),
    })
  }

  /** The trimmed output of a command. @throws Error if it fails */
  async sh(sandbox: Sandbox, cmd: string): Promise<string> {
    const { stdout, stderr, exit_code } = await execInSandbox(
      sandbox,
      execBody.parse({ cmd }),
      new AbortController().signal,
    )
    if (exit_code !== 0) throw new Error(`${cmd}: ${exit_code} ${stdout} ${stderr}`)
    return stdout.trim()
  }

  async deleteSandboxes(): Promise<void> {
    for (const sandbox of this.host.sandboxes.values()) await deleteSandbox(this.host, sandbox)
  }

  /** Stops like an agent at shutdown: its VMs keep running. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all([this.host.pool.close(), this.#agent.names?.close()])
    for (const { vm, log } of this.host.sandboxes.values()) await Promise.all([vm?.detach(), log.close()])
    await this.host.store.events.close()
    process.chdir('/')
  }

  async destroy(): Promise<void> {
    await this.stop()
    await this.place.destroy()
  }
}
