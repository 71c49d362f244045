import { getRouteApi } from '@tanstack/react-router'
import { useCallback } from 'react'
import { useApi } from '../../session/session.tsx'
import { type LogEntry, LogView } from '../../ui/log-view.tsx'
import { useFollowed } from '../../ui/use-followed.ts'

const route = getRouteApi('/member/apps/$id')

/** What the version that serves writes, also after the next deploy. */
export function RuntimeLogTab() {
  const { id } = route.useParams()
  const api = useApi()
  const open = useCallback(
    async function* (signal: AbortSignal): AsyncGenerator<LogEntry> {
      const app = await api.apps.get(id, { signal })
      for await (const text of app.followLogs({ signal })) yield { text }
    },
    [api, id],
  )
  return <LogView key={id} label="Runtime log" log={useFollowed(open)} empty="The app has written nothing yet." />
}
