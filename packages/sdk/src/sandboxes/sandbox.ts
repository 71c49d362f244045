import type {
  CreateSandboxBody,
  Event,
  ForkTree,
  Lifecycle,
  Lineage,
  LogLine,
  PatchSandboxBody,
  Promotion,
  Sandbox as SandboxInfo,
  SandboxMetrics,
  SandboxTemplateBody,
  Snapshot,
} from '../generated/models.ts'
import type { List } from '../http/list.ts'
import { Resource } from '../http/resource.ts'
import { Scope, split } from '../http/scope.ts'
import type { CallOptions, Transport } from '../http/transport.ts'
import { Code } from './code.ts'
import { Commands } from './commands.ts'
import { type Exec, makeExec } from './exec.ts'
import { Files } from './files.ts'
import { Ports } from './ports.ts'
import {
  type EventsOptions,
  followEvents,
  followLogs,
  type GapOptions,
  type LogsOptions,
  type MetricsOptions,
  type NumberedEvent,
  readEvents,
  readLogs,
  readMetrics,
} from './records.ts'
import { TemplateBuild } from './template-build.ts'
import { Terminal, type TerminalOptions } from './terminal.ts'

export type { SandboxInfo }

/** What a new sandbox is like. */
export type CreateSandboxOptions = Omit<CreateSandboxBody, 'cpu' | 'memoryMb' | 'template'> &
  CallOptions & {
    /** Default: `base`, or that of the snapshot. */
    readonly template?: string | undefined
  }

export interface ForkOptions extends CallOptions {
  /** Replaces the metadata of the parent. Default: a copy of it. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** How the lifetime of a sandbox changes. Absent fields stay as they are. */
export type LifecycleOptions = Pick<
  CreateSandboxBody,
  'ttlSeconds' | 'onTimeout' | 'persistent' | 'idleTimeoutSeconds'
> &
  CallOptions

/** The children of one fork, all from the same instant of their parent. */
export interface Children extends AsyncDisposable {
  readonly treeId: string
  /** Those that started, in the order of their index. */
  readonly sandboxes: readonly Sandbox[]
  /** Those that did not. */
  readonly errors: ForkTree['errors']
  /** What the children lack of their parent. */
  readonly warnings: readonly string[]
  /** Deletes all children that exist. */
  delete(): Promise<void>
}

type StateRoute = `POST /v1/sandboxes/{id}/${'pause' | 'resume' | 'hibernate' | 'wake'}`

/**
 * A microVM. `await using` deletes a sandbox that the program has made; one from `get` or `list` stays.
 */
export class Sandbox extends Resource<'GET /v1/sandboxes/{id}', SandboxInfo> {
  readonly id: string
  /** Runs a command and waits for its end. */
  readonly exec: Exec
  /** Commands that run on their own. */
  readonly commands: Commands
  readonly files: Files
  readonly ports: Ports
  /** The code interpreter. */
  readonly code: Code

  /** @internal */
  constructor(transport: Transport, info: SandboxInfo, isOwned: boolean) {
    const scope = new Scope(transport, { id: info.id })
    super('GET /v1/sandboxes/{id}', 'DELETE /v1/sandboxes/{id}', { scope, info, isOwned })
    this.id = info.id
    this.exec = makeExec(scope)
    this.commands = new Commands(scope)
    this.files = new Files(scope)
    this.ports = new Ports(scope)
    this.code = new Code(scope)
  }

  /** Stops the vCPUs. The memory stays. */
  async pause(options: CallOptions = {}): Promise<this> {
    return this.#request('POST /v1/sandboxes/{id}/pause', options)
  }

  /** Starts the vCPUs again. */
  async resume(options: CallOptions = {}): Promise<this> {
    return this.#request('POST /v1/sandboxes/{id}/resume', options)
  }

  /** Writes the memory to disk and ends the VM. `memory: false` keeps the disk only. */
  async hibernate(options: CallOptions & { readonly memory?: boolean } = {}): Promise<this> {
    return this.#request('POST /v1/sandboxes/{id}/hibernate', options)
  }

  /** Restores a hibernated sandbox. Commands and file operations do that by themselves. */
  async wake(options: CallOptions = {}): Promise<this> {
    return this.#request('POST /v1/sandboxes/{id}/wake', options)
  }

  /** A request for the state that the sandbox already has changes nothing, so it may be repeated. */
  async #request(route: StateRoute, options: CallOptions): Promise<this> {
    return this.become(await this.scope.post(route, options, { isIdempotent: true }))
  }

  /** Changes who may open the preview addresses: everybody, or members of the workspace and links. */
  async update(options: PatchSandboxBody & CallOptions): Promise<this> {
    return this.become(await this.scope.post('PATCH /v1/sandboxes/{id}', options))
  }

  /** How long the sandbox lives. */
  async lifecycle(options: CallOptions = {}): Promise<Lifecycle> {
    return this.scope.get('GET /v1/sandboxes/{id}/lifecycle', options)
  }

  /** Changes how long the sandbox lives. `ttlSeconds` counts from now. */
  async setLifecycle(options: LifecycleOptions): Promise<Lifecycle> {
    return this.scope.post('PATCH /v1/sandboxes/{id}/lifecycle', options)
  }

  /** Keeps the memory, devices and disk of this instant. New sandboxes can start from it (`fromSnapshot`). */
  async snapshot(options: CallOptions & { readonly name?: string } = {}): Promise<Snapshot> {
    return this.scope.post('POST /v1/sandboxes/{id}/snapshots', options)
  }

  /** Starts to make a template of the sandbox, which may be deleted then. @throws ConflictError if the name is taken */
  async makeTemplate(options: SandboxTemplateBody & CallOptions): Promise<TemplateBuild> {
    const build = await this.scope.post('POST /v1/sandboxes/{id}/template', options)
    return new TemplateBuild(this.scope, build)
  }

  /**
   * Copies the running sandbox with its processes, files and memory. With `count`, 1 to 16, it makes several copies of
   * the same instant.
   * @throws ApiError if none could start
   */
  async fork(options?: ForkOptions & { readonly count?: undefined }): Promise<Sandbox>
  async fork(options: ForkOptions & { readonly count: number }): Promise<Children>
  async fork(options: ForkOptions & { readonly count?: number | undefined } = {}): Promise<Sandbox | Children> {
    const { count, ...rest } = options
    if (count !== undefined) return this.#forkTree({ ...rest, count })
    const child = await this.scope.post('POST /v1/sandboxes/{id}/fork', rest)
    return new Sandbox(this.scope.transport, child, true)
  }

  async #forkTree(options: ForkOptions & { readonly count: number }): Promise<Children> {
    const tree = await this.scope.post('POST /v1/sandboxes/{id}/fork-tree', options)
    const sandboxes = tree.children.map((child) => new Sandbox(this.scope.transport, child, true))
    const deleteAll = async () => {
      await settleAll(sandboxes.map((each) => each.delete()))
    }
    const { treeId, errors, warnings } = tree
    return { treeId, sandboxes, errors, warnings, delete: deleteAll, [Symbol.asyncDispose]: deleteAll }
  }

  /** Detaches this child of a fork tree from its parent and deletes its siblings, unless `cleanupSiblings` is false. */
  async promote(options: CallOptions & { readonly cleanupSiblings?: boolean } = {}): Promise<Promotion> {
    return this.scope.post('POST /v1/sandboxes/{id}/promote', options, { isIdempotent: true })
  }

  /** The tree to which the sandbox belongs: sandboxes and snapshots, also deleted ones, from its oldest ancestor. */
  async lineage(options: CallOptions = {}): Promise<Lineage> {
    return this.scope.get('GET /v1/sandboxes/{id}/lineage', options)
  }

  /** Opens a terminal over a WebSocket. */
  async terminal(options: TerminalOptions = {}): Promise<Terminal> {
    return Terminal.open(this.scope, options)
  }

  /**
   * What happens to the sandbox, as it happens. `since` continues after an event; without it, and without `tail`, the
   * last 100 events come first. A broken connection is continued without a gap.
   * @throws MissingDataError if the service has dropped events that were not read, unless `onGap` is given
   */
  events(options: EventsOptions & GapOptions = {}): AsyncGenerator<NumberedEvent, void, undefined> {
    return followEvents(this.scope, options)
  }

  /** The latest events, oldest first. */
  async pastEvents(options: EventsOptions = {}): Promise<Event[]> {
    return readEvents(this.scope, options)
  }

  /**
   * The lines of the log, then new ones as they are written. A broken connection is continued without a gap.
   * @throws MissingDataError if the service has dropped lines that were not read, unless `onGap` or one `stream` is given
   */
  followLogs(options: LogsOptions & GapOptions = {}): AsyncGenerator<LogLine, void, undefined> {
    return followLogs(this.scope, options)
  }

  /** The lines of the log until now. */
  async logs(options: LogsOptions = {}): Promise<LogLine[]> {
    return readLogs(this.scope, options)
  }

  /** What the sandbox uses, now and in the last hour. */
  async metrics(options: MetricsOptions = {}): Promise<SandboxMetrics> {
    return readMetrics(this.scope, options)
  }
}

/** Which sandboxes to list. */
export interface SandboxFilter extends CallOptions {
  readonly template?: string | undefined
  /** One or several. */
  readonly status?: SandboxInfo['status'] | readonly SandboxInfo['status'][] | undefined
  /** Sandboxes that have all of these tags. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly createdAfter?: string | undefined
  readonly createdBefore?: string | undefined
  /** Default: `desc`, the newest first. */
  readonly order?: 'asc' | 'desc' | undefined
  /** Entries of one page. */
  readonly limit?: number | undefined
}

/** The sandboxes of a workspace. */
export class Sandboxes {
  readonly #scope: Scope

  /** @internal */
  constructor(transport: Transport) {
    this.#scope = new Scope(transport)
  }

  /** Makes a sandbox and waits until it runs. A retry never makes a second one. */
  async create(options: CreateSandboxOptions = {}): Promise<Sandbox> {
    const { template = options.fromSnapshot ? undefined : 'base' } = options
    const info = await this.#scope.post('POST /v1/sandboxes', { ...options, template } as CallOptions)
    return new Sandbox(this.#scope.transport, info, true)
  }

  /** @throws NotFoundError */
  async get(id: string, options: CallOptions = {}): Promise<Sandbox> {
    const info = await this.#scope.with({ id }).get('GET /v1/sandboxes/{id}', options)
    return new Sandbox(this.#scope.transport, info, false)
  }

  /** The sandboxes, newest first. */
  list({ metadata = {}, status, ...filter }: SandboxFilter = {}): List<Sandbox> {
    const { call, fields } = split(filter)
    const tags = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]))
    const options = { ...call, ...fields, ...tags, ...(status !== undefined && { status }) }
    return this.#scope.list('GET /v1/sandboxes', options, (info) => new Sandbox(this.#scope.transport, info, false))
  }

  /** Deletes a sandbox by its id. It is no error if there is none. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#scope.with({ id }).remove('DELETE /v1/sandboxes/{id}', options)
  }
}

/** Waits for all, then throws the first error, if any. */
async function settleAll(work: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(work)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}
