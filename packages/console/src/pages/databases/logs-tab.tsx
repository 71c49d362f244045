import { getRouteApi } from '@tanstack/react-router'
import { useCallback } from 'react'
import { useApi } from '../../session/session.tsx'
import { type LogEntry, LogView } from '../../ui/log-view.tsx'
import { useFollowed } from '../../ui/use-followed.ts'

const route = getRouteApi('/member/databases/$id')

/** Lines at the beginning. */
const TAIL = 1000

/** The server's log as it is written. */
export function LogsTab() {
  const { id } = route.useParams()
  const api = useApi()
  const open = useCallback(
    async function* (signal: AbortSignal): AsyncGenerator<LogEntry> {
      const database = await api.databases.get(id, { signal })
      for await (const { ts, line, stream } of database.followLogs({ tail: TAIL, signal, onGap: () => undefined }))
        yield { text: line, lead: new Date(ts).toLocaleTimeString(), isError: stream === 'stderr' }
    },
    [api, id],
  )
  return <LogView key={id} label="Log" log={useFollowed(open)} empty="The server has written nothing yet." />
}
