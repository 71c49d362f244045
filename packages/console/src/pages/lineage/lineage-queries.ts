import type { Lineage } from '@offshoot/sdk'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useApi } from '../../session/session.tsx'
import { useSandboxHandle } from '../sandbox/sandbox-handle.ts'
import { type Relative, withDistinctNames } from './family.ts'

/** Milliseconds between two looks at what an object takes. */
const INTERVAL_MS = 10_000

/** Everybody that a sandbox is related to, also deleted ones. */
export function useFamily(id: string) {
  const sandbox = useSandboxHandle(id)
  const { data, error } = useQuery({
    queryKey: ['lineage', id],
    queryFn: async ({ signal }) => sandbox.lineage({ signal }),
  })
  const family = useMemo(() => data && withDistinctNames(data.nodes.map(fromNode)), [data])
  return { family, isCut: data?.truncated === true, error }
}

function fromNode(node: Lineage['nodes'][number]): Relative {
  const { memoryMb, sizeBytes, forkTreeId, promoted, name, ...rest } = node
  return {
    ...rest,
    name: name ?? node.id.slice(0, 8),
    memoryBytes: memoryMb * 2 ** 20,
    sizeBytes,
    canBePromoted: forkTreeId !== null && !promoted && node.deletedAt === null,
  }
}

/** Bytes that one object takes of its host. `null`: not known. */
export interface Cost {
  readonly memory: number | null
  readonly disk: number | null
}

/** Of more sandboxes than this, the page asks only for those that are chosen. */
const MAX_MEASURED = 16

/** What the objects of a family take of their hosts, by id. Measuring a sandbox wakes nothing. */
export function useCosts(family: readonly Relative[], chosen: ReadonlySet<string>): ReadonlyMap<string, Cost> {
  const api = useApi()
  const living = family.filter(
    ({ kind, status }) => kind === 'sandbox' && status !== 'deleted' && status !== 'creating',
  )
  const measured =
    living.length <= MAX_MEASURED ? living : living.filter(({ id }) => chosen.has(id)).slice(0, MAX_MEASURED)
  return useQueries({
    queries: measured.map(({ id }) => ({
      queryKey: ['sandbox', id, 'cost'],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
        const { now } = await api.request('GET /v1/sandboxes/{id}/metrics', { path: { id }, signal })
        return { memory: now.memory_host_private_bytes, disk: now.disk_bytes }
      },
      refetchInterval: INTERVAL_MS,
    })),
    combine: (results) => {
      const costs = new Map<string, Cost>()
      for (const { id, kind, sizeBytes } of family) {
        if (kind === 'snapshot' && sizeBytes !== null) costs.set(id, { memory: null, disk: sizeBytes })
      }
      results.forEach(({ data }, i) => {
        const id = measured[i]?.id
        if (id !== undefined && data !== undefined) costs.set(id, data)
      })
      return costs
    },
  })
}
