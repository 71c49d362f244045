import type { Offshoot, VolumeInfo, VolumeSnapshot } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

/** Entries of one request: the most that the service sends. */
const PAGE = 1000

export const volumesQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['volume', 'list', 'info'],
    queryFn: async ({ signal }): Promise<readonly VolumeInfo[]> =>
      (await api.volumes.list({ limit: PAGE, signal }).all()).map(({ info }) => info),
  })

/** The key is that of a list, because changes name volumes by something else than their names. */
export const volumeQuery = (api: Offshoot, name: string) =>
  queryOptions({
    queryKey: ['volume', 'list', 'one', name],
    queryFn: async ({ signal }) => (await api.volumes.get(name, { signal })).info,
  })

/** Newest first. They outlive their volume. */
export const volumeSnapshotsQuery = (api: Offshoot, name: string) =>
  queryOptions({
    queryKey: ['volume_snapshot', 'list', name],
    queryFn: async ({ signal }): Promise<readonly VolumeSnapshot[]> =>
      (await api.volumes.get(name, { signal })).snapshots.list({ limit: PAGE, signal }).all(),
  })

/** Copies take as long as the disk needs for the bytes in use. */
export const COPY_TIMEOUT_MS = 600_000
