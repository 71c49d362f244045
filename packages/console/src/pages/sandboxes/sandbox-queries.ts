import { NotFoundError, type SandboxInfo } from '@offshoot/sdk'
import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { useListUpdate } from '../../live/use-live.ts'
import { useApi } from '../../session/session.tsx'
import { merge } from './merge.ts'
import type { Offshoot } from '@offshoot/sdk'

/** Entries of one request: the most that the service sends. */
const PAGE = 1000

const LIST_KEY = ['sandbox', 'list'] as const

/** All sandboxes of the workspace, newest first. */
export const sandboxesQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: LIST_KEY,
    queryFn: async ({ signal }): Promise<readonly SandboxInfo[]> => {
      const all = await api.sandboxes.list({ limit: PAGE, signal }).all()
      return all.map(({ info }) => info)
    },
  })

export const sandboxQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['sandbox', id],
    queryFn: async ({ signal }) => (await api.sandboxes.get(id, { signal })).info,
  })

/** Keeps the list true without reading all of it with every change. */
export function useSandboxListUpdates(): void {
  const api = useApi()
  const queries = useQueryClient()
  const update = useCallback(
    async (ids: readonly string[]) => {
      const read = async (id: string) => {
        try {
          return { id, info: (await api.sandboxes.get(id)).info }
        } catch (error) {
          if (error instanceof NotFoundError) return { id, info: null }
          throw error
        }
      }
      try {
        const changed = await Promise.all(ids.map(read))
        queries.setQueryData<readonly SandboxInfo[]>(LIST_KEY, (old) => old && merge(old, changed))
      } catch {
        await queries.invalidateQueries({ queryKey: LIST_KEY })
      }
    },
    [api, queries],
  )
  useListUpdate('sandbox', update)
}
