import type { Offshoot, SandboxInfo, Snapshot } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useApi } from '../../session/session.tsx'
import { sandboxesQuery, useSandboxListUpdates } from '../sandboxes/sandbox-queries.ts'
import { familyOf, type Relative, withDistinctNames } from './family.ts'

const snapshotsQuery = (api: Offshoot) => ({
  queryKey: ['snapshot', 'list'],
  queryFn: async ({ signal }: { readonly signal: AbortSignal }) => api.snapshots.list({ signal }).all(),
})

/** Everybody of the workspace that a sandbox is related to. */
export function useFamily(id: string) {
  const api = useApi()
  useSandboxListUpdates()
  const sandboxes = useQuery(sandboxesQuery(api))
  const snapshots = useQuery(snapshotsQuery(api))
  const family = useMemo(() => {
    if (sandboxes.data === undefined || snapshots.data === undefined) return undefined
    const all = [...sandboxes.data.map(fromSandbox), ...snapshots.data.map(fromSnapshot)]
    return withDistinctNames(familyOf(all, id))
  }, [sandboxes.data, snapshots.data, id])
  return { family, error: sandboxes.error ?? snapshots.error }
}

function fromSandbox({ id, parentId, fromSnapshot, metadata, status, createdAt, forkTreeId }: SandboxInfo): Relative {
  const name = metadata['name'] ?? id.slice(0, 8)
  return { id, kind: 'sandbox', parentId: parentId ?? fromSnapshot, name, status, createdAt, forkTreeId }
}

function fromSnapshot({ id, sandboxId, name, createdAt }: Snapshot): Relative {
  const shown = name ?? id.slice(0, 8)
  return { id, kind: 'snapshot', parentId: sandboxId, name: shown, status: 'snapshot', createdAt, forkTreeId: null }
}
