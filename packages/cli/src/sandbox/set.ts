import { type Action, operand } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly visibility?: 'public' | 'private'
  readonly ttl?: number
  readonly onTimeout?: 'delete' | 'pause'
  readonly persistent?: boolean
  readonly idleTimeout?: number
}

export const run: Action<Options> = async (cli, line) => {
  const { visibility, ttl, onTimeout, persistent, idleTimeout } = line.options
  const life = { ttl_seconds: ttl, on_timeout: onTimeout, persistent, idle_timeout_seconds: idleTimeout }
  const changesLife = Object.values(life).some((value) => value !== undefined)
  if (visibility === undefined && !changesLife) throw new UsageError('say what to change')
  if (persistent && ttl !== undefined) throw new UsageError('--persistent and --ttl exclude each other')
  const api = await cli.api()
  const path = { id: await resolve(api, 'sandbox', operand(line, 0)) }
  if (visibility !== undefined)
    await api.request('PATCH /v1/sandboxes/{id}', { path, body: { visibility }, signal: cli.signal })
  if (changesLife) await api.request('PATCH /v1/sandboxes/{id}/lifecycle', { path, body: life, signal: cli.signal })
  if (!line.options.json) return cli.out.line(path.id)
  cli.out.json(await api.request('GET /v1/sandboxes/{id}', { path, signal: cli.signal }))
}
