import { setTimeout as delay } from 'node:timers/promises'
import type { Sandbox } from '@offshoot/contract/sandbox'
import type { MetricsPoint } from '@offshoot/contract/sandbox-metrics'
import type { Cli } from '../frame/cli.ts'
import type { Action } from '../frame/command.ts'
import { bytes } from '../frame/output.ts'
import { resolve } from '../frame/resolve.ts'
import { nameOf, shortId } from './show.ts'

const DEFAULT_SECONDS = 2
/** Sandboxes whose metrics are read; the limit of requests of a workspace is 25 a second. */
const MOST = 40

interface Row {
  readonly sandbox: Sandbox
  readonly now: MetricsPoint
}

export const run: Action<{ readonly interval?: number; readonly once?: boolean }> = async (
  cli,
  { operands, options },
) => {
  const { interval = DEFAULT_SECONDS, json } = options
  const api = await cli.api()
  const wanted = new Set(await Promise.all(operands.map(async (text) => resolve(api, 'sandbox', text))))
  const repeats = options.once !== true && !json && cli.streams.stdout.isTTY === true
  let before = new Map<string, MetricsPoint>()
  for (;;) {
    const { rows, left } = await measure(cli, wanted)
    if (json) return cli.out.json(rows.map(({ sandbox, now }) => ({ id: sandbox.id, ...now })))
    // Home, and clear below the last line, so that the screen does not flicker.
    if (repeats) cli.out.raw('\u001B[H\u001B[J')
    show(cli, rows, before)
    if (left > 0) cli.out.note(`${left} more are not shown: name the sandboxes to see`)
    if (!repeats) return
    before = new Map(rows.map(({ sandbox, now }) => [sandbox.id, now]))
    await delay(interval * 1000, undefined, { signal: cli.signal })
  }
}

async function measure(cli: Cli, wanted: ReadonlySet<string>): Promise<{ rows: Row[]; left: number }> {
  const api = await cli.api()
  const listed = await api.list('GET /v1/sandboxes', { query: { limit: 1000, status: ['running', 'paused'] } }).all()
  const all = wanted.size === 0 ? listed : listed.filter(({ id }) => wanted.has(id))
  // One that was named and is not running has the last known values, or is unknown.
  for (const id of wanted)
    if (!all.some((each) => each.id === id)) all.push(await api.request('GET /v1/sandboxes/{id}', { path: { id } }))
  const rows = await Promise.all(
    all.slice(0, MOST).map(async (sandbox) => {
      const { now } = await api.request('GET /v1/sandboxes/{id}/metrics', {
        path: { id: sandbox.id },
        query: { step: 3600 },
      })
      return { sandbox, now }
    }),
  )
  return { rows, left: Math.max(0, all.length - MOST) }
}

function show({ out }: Cli, rows: readonly Row[], before: ReadonlyMap<string, MetricsPoint>): void {
  const shown = rows.map(({ sandbox, now }) => {
    const last = before.get(sandbox.id)
    const seconds = last === undefined ? 0 : (Date.parse(now.ts) - Date.parse(last.ts)) / 1000
    const share = last === undefined || seconds <= 0 ? null : ((now.cpu_seconds - last.cpu_seconds) / seconds) * 100
    return [
      shortId(sandbox.id),
      nameOf(sandbox),
      share === null ? `${now.cpu_seconds.toFixed(1)} s` : `${share.toFixed(0)} %`,
      now.memory_guest_used_bytes === null ? '' : `${bytes(now.memory_guest_used_bytes)} of ${sandbox.memory_mb} MiB`,
      bytes(now.disk_bytes),
      now.network_in_bytes === null ? '' : bytes(now.network_in_bytes),
      now.network_out_bytes === null ? '' : bytes(now.network_out_bytes),
    ]
  })
  out.table(['ID', 'NAME', 'CPU', 'MEMORY', 'DISK', 'IN', 'OUT'], shown, 'No sandbox runs.')
}
