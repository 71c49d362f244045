/**
 * Offshoot as a provider of ComputeSDK (the npm packages `computesdk` and `@computesdk/provider`):
 *
 *     compute.setConfig({ provider: offshoot({ baseUrl, apiKey }) })
 *     const sandbox = await compute.sandbox.create()
 */
import {
  type CommandResult,
  type CreateSandboxOptions,
  defineProvider,
  type Provider,
  type RunCommandOptions,
  type SandboxInfo as ProvidedInfo,
  TIMEOUT_EXIT_CODE,
} from '@computesdk/provider'
import { Offshoot } from './client.ts'
import type { Snapshot as SnapshotInfo, Template as TemplateInfo } from './generated/models.ts'
import { delay } from './http/deadline.ts'
import { NotFoundError, OffshootError } from './http/errors.ts'
import { fromWire } from './http/rename.ts'
import type { ClientOptions } from './http/transport.ts'
import type { Sandbox, SandboxInfo } from './sandboxes/sandbox.ts'

/** How to reach the service, and what sandboxes are like unless a create says otherwise. */
export interface OffshootProviderConfig extends ClientOptions {
  /** Default: `base`. */
  readonly template?: string
  /** Milliseconds that a sandbox lives. Default: that of the service, an hour. */
  readonly timeout?: number
}

/** Options of `provider.template.create`. */
export interface CreateTemplateOptions {
  readonly name: string
  /** Id of the sandbox whose disk becomes the template. */
  readonly sandboxId: string
}

/** A snapshot as ComputeSDK describes it. `metadata` has the description of the API. */
export interface ProvidedSnapshot {
  readonly id: string
  readonly provider: string
  readonly createdAt: Date
  readonly metadata: SnapshotInfo
}

/** A template. Its name is its id. */
export interface ProvidedTemplate {
  readonly id: string
  readonly name: string
  readonly provider: string
  readonly createdAt: Date
  readonly metadata: TemplateInfo
}

const NAME = 'offshoot'
const DEFAULT_TEMPLATE = 'base'
const BUILD_LOOK_MS = 500
/** Tag of the folder in which commands run. */
const DIRECTORY = 'computesdk.directory'

/** A provider for one service and one credential. */
export const offshoot: (config?: OffshootProviderConfig) => Provider<Sandbox, ProvidedTemplate, ProvidedSnapshot> = (
  config = {},
) => define({ client: new Offshoot(config), ...config })

interface Config extends OffshootProviderConfig {
  readonly client: Offshoot
}

const define = /* @__PURE__ */ defineProvider<Sandbox, Config, ProvidedTemplate, ProvidedSnapshot>({
  name: NAME,
  methods: {
    sandbox: {
      create: async (config, options) => provided(await create(config, options)),
      getById: async ({ client }, id) => orNull(client.sandboxes.get(id).then(provided)),
      list: async ({ client }) => (await client.sandboxes.list().all()).map(provided),
      destroy: async ({ client }, id) => client.sandboxes.delete(id),
      runCommand,
      streamCommand: runCommand,
      getInfo: async (sandbox) => described(await sandbox.refresh()),
      getUrl: async (sandbox, { port, protocol }) => {
        const url = await sandbox.ports.url(port)
        return protocol === undefined ? url : url.replace(/^\w+/, protocol)
      },
      filesystem: {
        readFile: async (sandbox, path) => sandbox.files.read(path),
        writeFile: async (sandbox, path, content) => void (await sandbox.files.write(path, content)),
        mkdir: async (sandbox, path) => void (await sandbox.files.mkdir(path)),
        readdir: async (sandbox, path) => {
          const entries = await sandbox.files.list(path)
          return entries.map(({ name, isDir, size, mtimeMs }) => ({
            name,
            type: isDir ? 'directory' : 'file',
            size,
            modified: new Date(mtimeMs),
          }))
        },
        exists: async (sandbox, path) => sandbox.files.exists(path),
        // Like `rm -rf`, as the interface suggests.
        remove: async (sandbox, path) => {
          if (await sandbox.files.exists(path)) await sandbox.files.remove(path, { recursive: true })
        },
      },
    },
    snapshot: {
      create: async ({ client }, sandboxId, { name } = {}) => {
        const sandbox = await client.sandboxes.get(sandboxId)
        return snapshot(await sandbox.snapshot(name === undefined ? {} : { name }))
      },
      list: async ({ client }, { sandboxId, limit } = {}) => {
        const query = { ...(sandboxId !== undefined && { sandbox_id: sandboxId }) }
        const found = await firstOf(client.list('GET /v1/snapshots', { query }), limit)
        return found.map((each) => snapshot(fromWire(each)))
      },
      delete: async ({ client }, id) => {
        await orNull(client.request('DELETE /v1/snapshots/{id}', { path: { id } }))
      },
    },
    template: {
      create: async ({ client }, options) => createTemplate(client, options),
      list: async ({ client }, { limit } = {}) => {
        const found = await firstOf(client.list('GET /v1/templates'), limit)
        return found.map((each) => template(fromWire(each)))
      },
      delete: async ({ client }, name) => {
        await orNull(client.request('DELETE /v1/templates/{name}', { path: { name } }))
      },
    },
  },
})

const provided = (sandbox: Sandbox) => ({ sandbox, sandboxId: sandbox.id })

/**
 * Other keys are for other providers: ComputeSDK lets a caller pass those of all of them. `signal` does not reach the
 * request, because its answer says what to delete. The framework ends the caller's wait and deletes the sandbox.
 */
async function create(config: Config, options: CreateSandboxOptions = {}): Promise<Sandbox> {
  const { client, template = DEFAULT_TEMPLATE, timeout: usual } = config
  const { timeout = usual, templateId, image, snapshotId, metadata, envs, name, namespace, directory } = options
  const tags = { ...metadata, name, namespace, [DIRECTORY]: directory }
  const sandbox = await client.sandboxes.create({
    template: templateId ?? image ?? (snapshotId === undefined ? template : undefined),
    metadata: asTexts(tags),
    ...(snapshotId !== undefined && { fromSnapshot: snapshotId }),
    ...(envs !== undefined && { env: envs }),
    ...(timeout !== undefined && { ttlSeconds: Math.max(1, Math.ceil(timeout / 1000)) }),
  })
  try {
    if (directory !== undefined) await sandbox.files.mkdir(directory)
    return sandbox
  } catch (error) {
    await sandbox.delete()
    throw error
  }
}

/** Tags are texts. ComputeSDK allows any value. */
function asTexts(tags: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(tags).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

/** A command that takes longer than `timeout` is killed, and its exit code is that of the program `timeout`. */
async function runCommand(
  sandbox: Sandbox,
  command: string,
  { cwd = sandbox.info.metadata[DIRECTORY], env, timeout, background, onStdout, onStderr }: RunCommandOptions = {},
): Promise<CommandResult> {
  const startedAt = performance.now()
  if (background) {
    await sandbox.commands.start(command, { cwd, env })
    return { stdout: '', stderr: '', exitCode: 0, durationMs: performance.now() - startedAt }
  }
  const output = { stdout: '', stderr: '' }
  const late = timeout === undefined ? undefined : AbortSignal.timeout(timeout)
  try {
    const { stdout, stderr, exitCode, durationMs } = await sandbox.exec(command, {
      cwd,
      env,
      signal: late,
      timeoutMs: 0,
      onOutput: ({ stream, data }) => {
        output[stream] += data
        ;(stream === 'stdout' ? onStdout : onStderr)?.(data)
      },
    })
    return { stdout, stderr, exitCode, durationMs }
  } catch (error) {
    if (!late?.aborted || error !== late.reason) throw error
    return { ...output, exitCode: TIMEOUT_EXIT_CODE, durationMs: performance.now() - startedAt }
  }
}

const STATUS: Readonly<Record<SandboxInfo['status'], ProvidedInfo['status']>> = {
  creating: 'running',
  running: 'running',
  paused: 'stopped',
  hibernated: 'stopped',
  failed: 'error',
}

/** `timeout`: the milliseconds that the sandbox lives; 0 if it has no end. */
function described({ id, status, createdAt, expiresAt, metadata }: SandboxInfo): ProvidedInfo {
  const timeout = expiresAt === null ? 0 : Date.parse(expiresAt) - Date.parse(createdAt)
  return { id, provider: NAME, status: STATUS[status], createdAt: new Date(createdAt), timeout, metadata }
}

const snapshot = (info: SnapshotInfo): ProvidedSnapshot => ({
  id: info.id,
  provider: NAME,
  createdAt: new Date(info.createdAt),
  metadata: info,
})

const template = (info: TemplateInfo): ProvidedTemplate => ({
  id: info.name,
  name: info.name,
  provider: NAME,
  createdAt: new Date(info.createdAt),
  metadata: info,
})

/** Makes a template of the disk of a sandbox, and waits until it can be used. */
async function createTemplate(client: Offshoot, options: Partial<CreateTemplateOptions>): Promise<ProvidedTemplate> {
  const { name, sandboxId } = options
  if (name === undefined || sandboxId === undefined)
    throw new OffshootError('a template is made of a sandbox: pass its name, and the id of the sandbox as sandboxId')
  const { id } = await (await client.sandboxes.get(sandboxId)).makeTemplate({ name })
  for (;;) {
    const { status, error } = await client.request('GET /v1/builds/{id}', { path: { id } })
    if (status === 'failed') throw new OffshootError(`the template ${name} could not be built: ${error}`)
    if (status === 'done') break
    await delay(BUILD_LOOK_MS)
  }
  return template(fromWire(await client.request('GET /v1/templates/{name}', { path: { name } })))
}

async function firstOf<T>(list: AsyncIterable<T>, limit = Infinity): Promise<T[]> {
  const found: T[] = []
  if (limit <= 0) return found
  for await (const each of list) {
    found.push(each)
    if (found.length >= limit) break
  }
  return found
}

/** `null` if there is no such object. */
async function orNull<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request
  } catch (error) {
    if (error instanceof NotFoundError) return null
    throw error
  }
}
