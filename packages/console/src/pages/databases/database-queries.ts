import type { DatabaseBackup, DatabaseSummary, Offshoot } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

/** Entries of one request: the most that the service sends. */
const PAGE = 1000

/** Without credentials, newest first. */
export const databasesQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['database', 'list'],
    queryFn: async ({ signal }): Promise<readonly DatabaseSummary[]> =>
      api.databases.list({ limit: PAGE, signal }).all(),
  })

/** With credentials. */
export const databaseQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['database', id],
    queryFn: async ({ signal }) => (await api.databases.get(id, { signal })).info,
  })

/** Newest first. */
export const backupsQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['backup', 'list', id],
    queryFn: async ({ signal }): Promise<readonly DatabaseBackup[]> => {
      const database = await api.databases.get(id, { signal })
      return database.backups.list({ signal }).all()
    },
  })

export const statsQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['database', id, 'stats'],
    queryFn: async ({ signal }) => (await api.databases.get(id, { signal })).stats({ signal }),
  })

/** Creates, branches and restores answer when the database is complete, which takes long on an emulated CPU. */
export const CREATE_TIMEOUT_MS = 300_000

/** What a person calls it. */
export const nameOf = ({ id, label }: { readonly id: string; readonly label: string | null }): string =>
  label ?? `Database ${id.slice(0, 8)}`
