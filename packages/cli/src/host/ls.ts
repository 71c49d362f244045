import type { Action } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { bytes } from '../frame/output.ts'
import { type Sample, samplesOf } from './samples.ts'

interface Host {
  readonly id: string
  readonly up: boolean
  readonly sandboxes: number
  readonly memory_mib: Readonly<Record<string, number>>
  /** `null` if the host did not answer. */
  readonly disk: { readonly total_bytes: number; readonly free_bytes: number } | null
}

export const run: Action = async (cli, { options }) => {
  const api = operatorApi(cli)
  const response = await api.fetch('GET /v1/admin/metrics', { signal: cli.signal })
  const samples = samplesOf(await response.text())
  const hosts = await Promise.all(
    of(samples, 'offshoot_agent_up').map(async ({ labels: { agent_id: id = '' }, value }): Promise<Host> => {
      const isUp = value === 1
      const disk = isUp ? await api.request('GET /v1/hosts/{id}/disk', { path: { id }, signal: cli.signal }) : null
      const own = samples.filter(({ labels }) => labels['agent_id'] === id)
      const memory = of(own, 'offshoot_agent_memory_mib').map((each) => [each.labels['kind'] ?? '', each.value])
      const sandboxes = new Set(own.flatMap(({ labels }) => labels['sandbox_id'] ?? [])).size
      return { id, up: isUp, sandboxes, memory_mib: Object.fromEntries(memory) as Record<string, number>, disk }
    }),
  )
  const { out } = cli
  out.list(options, hosts, {
    id: ({ id }) => id,
    headings: ['HOST', 'STATUS', 'SANDBOXES', 'MEMORY', 'DISK FREE'],
    row: ({ id, up, sandboxes, memory_mib: memory, disk }) => [
      id,
      up ? out.style('green', 'up') : out.style('red', 'down'),
      String(sandboxes),
      Object.entries(memory)
        .map(([kind, mib]) => `${bytes(mib * 1024 * 1024)} ${kind.replaceAll('_', ' ')}`)
        .join(', '),
      disk === null ? '' : `${bytes(disk.free_bytes)} of ${bytes(disk.total_bytes)}`,
    ],
    empty: 'There are no hosts.',
  })
}

function of(samples: readonly Sample[], name: string): readonly Sample[] {
  return samples.filter((sample) => sample.name === name)
}
