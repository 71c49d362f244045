import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type {
  AgentInfo,
  AgentRecord,
  AgentSandbox,
  CreateOnAgentBody,
  SpentCreditBody,
} from '@offshoot/contract/agent-api'
import type { TlsIdentity } from '@offshoot/kit/mutual-tls'
import { type EventType, eventCode } from '@offshoot/contract/event'
import { DEFAULT_IDLE_TIMEOUT_SECONDS } from '@offshoot/contract/sandbox'
import { FAKE_DISK, FakeAgentState, FAKE_SIZE, type FakeOrigin, fakeSandbox, STATUS_AFTER } from './fake-agent-state.ts'
import { type Handled, LOST } from './handled.ts'
import { answer, frame, readAll } from './fake-answer.ts'
import { answerArchives } from './fake-archives.ts'
import { answerBuilds, takeFakeUpload } from './fake-builds.ts'
import { answerCluster, claimsOf } from './fake-cluster.ts'
import { answerCheckpoints } from './fake-checkpoints.ts'
import { answerMoves } from './fake-moves.ts'
import { answerQuarantine } from './fake-quarantine.ts'
import { fakeServer, presentIdentity } from './fake-server.ts'
import { answerVolumes, refuseAttachments } from './fake-volumes.ts'

export interface FakeAgentOptions {
  readonly templates?: readonly string[]
  /** Keeps the sandboxes and the log over a restart, as a real agent's disk does. */
  readonly state?: FakeAgentState
  readonly host?: string
  readonly port?: number
  /** With a certificate the agent speaks TLS, and expects one of the caller. */
  readonly tls?: TlsIdentity
  readonly secret?: string
}

/**
 * An agent without VMs, which speaks the true protocol over a real socket (credential, log as server-sent events, list,
 * create, delete, exec). It is for tests of control that do not depend on VMs. Each `on…` replaces the behaviour of one
 * route.
 */
export class FakeAgent {
  readonly state: FakeAgentState
  readonly secret: string
  /** Called before a create is answered. A returned value replaces the answer. */
  onCreate: (id: string, body: CreateOnAgentBody) => Promise<Handled | undefined> = async () => undefined
  onDelete: (id: string) => Promise<Handled | undefined> = async () => undefined
  /** Called before the routes of fake-checkpoints.ts, with the last path segment, the id before it, and the body. */
  onAction: (action: string, id: string, body: unknown) => Promise<Handled | undefined> = async () => undefined
  /** Called before a route of fake-moves.ts is answered, with its last path segment; for `settle`, with the outcome. */
  onMove: (action: string, id: string) => Promise<Handled | undefined> = async () => undefined
  /** Such steps whose next answer does not arrive. */
  readonly lostAnswers = new Set<string>()
  onExec: (body: { cmd: string }, request: IncomingMessage) => Promise<Handled> = async () => ({
    status: 200,
    body: { stdout: '', stderr: '', exit_code: 0, duration_ms: 1 },
  })
  /** Handles operations on a sandbox; returns `false` for those that it does not handle. */
  onOperation: (request: IncomingMessage, response: ServerResponse) => boolean = () => false
  /** Handles every upgrade, and owns the socket from then on. */
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void = (_request, socket) => socket.destroy()
  /** Every request received, in order. */
  readonly requests: {
    method: string
    path: string
    requestId: string | undefined
    workspaceId: string | undefined
  }[] = []
  /** Shows another certificate from now on, and trusts others. */
  readonly present = (tls: TlsIdentity): void => presentIdentity(this.#server, tls)
  readonly #templates: readonly string[]
  readonly #server: Server
  readonly #isTls: boolean
  /** Open answers to the processes that follow its log. */
  readonly streams = new Set<ServerResponse>()
  readonly #upgraded = new Set<Duplex>()

  private constructor({
    templates = ['base', 'minimal'],
    state = new FakeAgentState(),
    tls,
    secret,
  }: FakeAgentOptions) {
    this.state = state
    this.secret = secret ?? Buffer.alloc(32, 7).toString('base64')
    this.#templates = templates
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => response.destroy(error as Error))
    }
    this.#isTls = tls !== undefined
    this.#server = fakeServer(tls, handle)
    this.#server.on('upgrade', (request, socket, head) => {
      this.#upgraded.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => this.#upgraded.delete(socket))
      this.onUpgrade(request, socket, head)
    })
  }

  static async start(options: FakeAgentOptions = {}): Promise<FakeAgent> {
    const agent = new FakeAgent(options)
    await new Promise<void>((resolve) => agent.#server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve))
    return agent
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `${this.#isTls ? 'https' : 'http'}://${(this.#server.address() as AddressInfo).address}:${this.port}`
  }

  /** Ends at once, with all connections, as with `kill -9`. */
  async kill(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    for (const socket of this.#upgraded) socket.destroy()
    await closed
  }

  /** Breaks the log's streams. Everything else continues. */
  cutStreams(): void {
    for (const stream of this.streams) stream.destroy()
  }

  /** Appends a record to the log and sends it to the followers. */
  log(type: EventType, sandboxId: string, metadata: Record<string, unknown> = {}): AgentRecord {
    const sandbox = this.state.sandboxes.get(sandboxId)
    const seq = this.state.records.length + 1
    const record: AgentRecord = {
      seq,
      number: this.state.records.filter(({ event }) => event.sandbox_id === sandboxId).length + 1,
      workspace_id: sandbox?.workspace_id ?? null,
      event: {
        ts: new Date().toISOString(),
        sandbox_id: sandboxId,
        agent_id: this.state.agentId,
        type,
        code: eventCode(type),
        message: type,
        metadata,
      },
    }
    this.state.records.push(record)
    const status = STATUS_AFTER[type] ?? sandbox?.status
    if (sandbox && status) this.state.sandboxes.set(sandboxId, { ...sandbox, status, last_seq: seq })
    for (const stream of this.streams) stream.write(frame(record))
    return record
  }

  /** Adds a VM, as a create would. */
  addSandbox(id: string, workspaceId: string, template = 'base', origin: FakeOrigin = {}): AgentSandbox {
    const made = fakeSandbox(id, workspaceId, template, origin)
    this.state.sandboxes.set(id, made)
    const { boot_ms, boot_mode, guest_ip, from_snapshot } = made
    this.log('sandbox.running', id, { boot_ms, boot_mode, guest_ip, from_snapshot, warm: false })
    const added = this.state.sandboxes.get(id)
    if (added === undefined) throw new Error('just added')
    return added
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    const method = request.method ?? 'GET'
    const { workspace_id: workspaceId, cluster_id: clusterId } = await claimsOf(request, this.secret)
    const requestId = request.headers['x-request-id'] as string | undefined
    this.requests.push({ method, path: url.pathname, requestId, workspaceId })
    if (method === 'GET' && url.pathname === '/v1/agent/events') {
      this.#stream(response, Number(url.searchParams.get('after')))
      return
    }
    if (/^\/v1\/sandboxes\/[^/]+\/./.test(url.pathname) && this.onOperation(request, response)) return
    const upload = await takeFakeUpload(this.state.builds, method, url.pathname, request)
    if (upload !== undefined) return answer(response, upload, requestId)
    const asked = { method, url, workspaceId, request }
    const moved = (await answerArchives(this, asked)) ?? (await answerMoves(this, asked))
    if (moved?.status === LOST.status) return void response.destroy()
    if (moved !== undefined) return answer(response, moved, requestId)
    const body = method !== 'GET' && method !== 'DELETE' ? JSON.parse(await readAll(request)) : undefined
    const cluster = answerCluster(this.state, { method, path: url.pathname, clusterId, body })
    if (cluster !== undefined) return answer(response, cluster, requestId)
    answer(response, await this.#route(request, method, url.pathname, workspaceId, body), requestId)
  }

  async #route(
    request: IncomingMessage,
    method: string,
    path: string,
    workspaceId: string | undefined,
    body: CreateOnAgentBody & { cmd: string },
  ): Promise<Handled> {
    const [, , , id = '', action] = path.split('/')
    if (path === '/v1/agent/spent-credit') {
      this.state.spentCredit = body as unknown as SpentCreditBody
      return { status: 204 }
    }
    if (path === '/v1/agent/lease') return this.state.lease.answer(method, body)
    if (path === '/v1/agent') return { status: 200, body: this.#info() }
    if (path.startsWith('/v1/quarantine')) return answerQuarantine(this.state, method, path)
    if (path === '/v1/agent/usage') return { status: 200, body: this.state.usage }
    if (path === '/v1/disk') return { status: 200, body: { ...FAKE_DISK, free_bytes: this.state.freeBytes } }
    if (path === '/v1/sandboxes' && method === 'GET') {
      const { sandboxes, records, unreadable } = this.state
      const listed = { last_seq: records.length, sandboxes: [...sandboxes.values()] }
      return { status: 200, body: { ...listed, unreadable: [...unreadable] } }
    }
    if (path === '/v1/snapshots') {
      const { records, snapshots, unreadable } = this.state
      const listed = { last_seq: records.length, snapshots: [...snapshots.values()] }
      return { status: 200, body: { ...listed, unreadable: [...unreadable] } }
    }
    const volumes = await answerVolumes(this, { method, path, workspaceId, body })
    if (volumes !== undefined) return volumes
    const builds = answerBuilds(this.state.builds, { method, path, workspaceId, body })
    if (builds !== undefined) return builds
    if (workspaceId === undefined) return { status: 401, body: { error: 'unauthorized' } }
    if (path === '/v1/sandboxes') return (await this.onCreate(body.id, body)) ?? this.#create(body, workspaceId)
    const isSandbox = path.startsWith('/v1/sandboxes/')
    if (isSandbox && action === undefined && method === 'DELETE')
      return (await this.onDelete(id)) ?? this.#delete(id, workspaceId)
    const checkpoints = await answerCheckpoints(this, { method, path, workspaceId, body })
    if (checkpoints !== undefined) return checkpoints
    const sandbox = this.state.sandboxes.get(id)
    if (sandbox?.workspace_id !== workspaceId) return { status: 404, body: { error: 'sandbox not found' } }
    return this.onExec(body, request)
  }

  #create(
    { id, template, snapshot_id: snapshotId, volumes = [], ...lifecycle }: CreateOnAgentBody,
    workspaceId: string,
  ): Handled {
    const { persistent = false, idle_timeout_seconds = DEFAULT_IDLE_TIMEOUT_SECONDS, visibility = 'public' } = lifecycle
    this.state.lifecycles.set(id, { persistent, idle_timeout_seconds })
    const from = snapshotId ?? null
    if (from !== null && this.state.snapshots.get(from)?.workspace_id !== workspaceId) {
      return { status: 404, body: { error: 'snapshot not found' } }
    }
    if (from === null && !this.state.builds.offers(template, workspaceId)) {
      return { status: 404, body: { error: 'not found', detail: `no template ${template} on this agent` } }
    }
    const refused = refuseAttachments(this.state, volumes)
    if (refused !== undefined) return refused
    this.state.attached.set(id, volumes)
    return { status: 201, body: this.addSandbox(id, workspaceId, template, { from_snapshot: from, visibility }) }
  }

  #delete(id: string, workspaceId: string): Handled {
    const sandbox = this.state.sandboxes.get(id)
    if (sandbox === undefined) return { status: 204 }
    if (sandbox.workspace_id !== workspaceId) return { status: 404, body: { error: 'sandbox not found' } }
    if (sandbox.move?.direction !== 'arriving') this.log('sandbox.deleted', id, { lifetime_seconds: 1 })
    this.state.sandboxes.delete(id)
    return { status: 204 }
  }

  #info(): AgentInfo {
    const { size: count } = this.state.sandboxes
    return {
      agent_id: this.state.agentId,
      version: '0.1.0',
      accelerator: 'tcg',
      accelerator_reason: 'there is no /dev/kvm',
      isolation: 'user',
      cpu_limits: 'cgroup-v2',
      network: { kind: 'tap', reason: null },
      qemu_version: '7.2.0',
      cpus: 2,
      memory_mib: { total: 4096, available: 4096 - 512 * count, committed: 832 * count, commit_limit: 32_768 },
      disk: {
        state: this.state.diskState,
        total_bytes: FAKE_DISK.total_bytes,
        free_bytes: this.state.freeBytes,
        warn_below_bytes: 16 * 1024 ** 3,
        refuse_below_bytes: 4 * 1024 ** 3,
      },
      templates: this.#templates.map((name) => ({
        name,
        rootfs_path: `templates/${name}/rootfs.ext4`,
        size_bytes: 1_000_000,
        ...FAKE_SIZE,
        meta: name === 'app' ? { image_digest: 'sha256:fake' } : {},
        is_global: true,
      })),
      sandboxes: this.state.sandboxes.size,
      spares: 0,
      last_seq: this.state.records.length,
      cluster_id: this.state.clusterId,
      ...(this.state.lease.isKnown && { lease: this.state.lease.state }),
    }
  }

  #stream(response: ServerResponse, after: number): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.write(': open\n\n')
    for (const record of this.state.records.slice(after)) response.write(frame(record))
    this.streams.add(response)
    response.once('close', () => this.streams.delete(response))
  }
}
