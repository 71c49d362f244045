import type { Sandbox } from '@offshoot/sdk'
import { queryOptions, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { load } from './content.ts'
import { parentOf } from './tree.ts'

export const folderQuery = (sandbox: Sandbox, path: string) =>
  queryOptions({
    queryKey: ['files', sandbox.id, 'folder', path],
    queryFn: async ({ signal }) => sandbox.files.list(path, { signal }),
  })

export const fileQuery = (sandbox: Sandbox, path: string) =>
  queryOptions({
    queryKey: ['files', sandbox.id, 'file', path],
    queryFn: async ({ signal }) => load(sandbox, path, signal),
    // A file that is opened again is read again.
    staleTime: 0,
    gcTime: 0,
  })

/** Reads the folder of a path again, after a change that this page made. */
export async function changedAt(queries: QueryClient, sandbox: Sandbox, ...paths: readonly string[]): Promise<void> {
  const folders = paths.flatMap((path) => [path, parentOf(path)])
  await Promise.all(
    folders.map(async (folder) => queries.invalidateQueries({ queryKey: folderQuery(sandbox, folder).queryKey })),
  )
}

/**
 * Shows changes in one folder as they happen. A browser has few connections to a host, so only the folder in view is
 * watched; the others are read when they are opened.
 */
export function useFolderWatch(sandbox: Sandbox, folder: string): void {
  const queries = useQueryClient()
  useEffect(() => {
    const leave = new AbortController()
    const follow = async () => {
      for await (const change of sandbox.files.watch(folder, { signal: leave.signal })) {
        await queries.invalidateQueries({ queryKey: folderQuery(sandbox, folder).queryKey })
        if (change.type === 'overflow') await queries.invalidateQueries({ queryKey: ['files', sandbox.id, 'file'] })
        else await queries.invalidateQueries({ queryKey: fileQuery(sandbox, change.path).queryKey })
      }
    }
    // Without it, the page shows changes when the folder is read again. The listing tells the error.
    follow().catch(() => undefined)
    return () => leave.abort()
  }, [queries, sandbox, folder])
}
