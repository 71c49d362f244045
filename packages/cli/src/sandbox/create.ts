import type { Action } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly template?: string
  readonly fromSnapshot?: string
  readonly ttl?: number
  readonly onTimeout?: 'delete' | 'pause'
  readonly persistent?: boolean
  readonly idleTimeout?: number
  readonly env?: Readonly<Record<string, string>>
  readonly metadata?: Readonly<Record<string, string>>
  readonly volume?: readonly string[]
  readonly egress?: 'internet' | 'none'
  readonly visibility?: 'public' | 'private'
}

const DEFAULT_TEMPLATE = 'base'

export const run: Action<Options> = async (cli, { operands: [name], options }) => {
  const { fromSnapshot, ttl, onTimeout, persistent, idleTimeout, env, metadata, volume = [], egress, json } = options
  if (persistent && ttl !== undefined) throw new UsageError('--persistent and --ttl exclude each other')
  if (name === '') throw new UsageError('the name must not be empty')
  const api = await cli.api()
  const snapshot = fromSnapshot === undefined ? undefined : await resolve(api, 'snapshot', fromSnapshot)
  const body = {
    ...source(options.template, snapshot),
    ttl_seconds: ttl,
    on_timeout: onTimeout,
    persistent,
    idle_timeout_seconds: idleTimeout,
    env,
    metadata: name === undefined ? metadata : { ...metadata, name },
    volumes: volume.map((text) => ({ name: text.replace(/:ro$/, ''), read_only: text.endsWith(':ro') })),
    network: egress === undefined ? undefined : { egress },
    visibility: options.visibility,
  }
  const sandbox = await withProgress(
    cli,
    'creating the sandbox',
    api.request('POST /v1/sandboxes', { body, signal: cli.signal }),
  )
  if (json) cli.out.json(sandbox)
  else cli.out.line(sandbox.id)
}

/** A snapshot has its template. */
function source(template: string | undefined, snapshot: string | undefined) {
  return snapshot === undefined ? { template: template ?? DEFAULT_TEMPLATE } : { template, from_snapshot: snapshot }
}
