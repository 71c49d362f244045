import { createContext, useContext, useEffect, useState } from 'react'
import { useApi } from '../session/session.tsx'
import { type ListUpdate, Refresher } from './changes.ts'

const RefresherContext = createContext<Refresher | null>(null)
export const RefresherProvider = RefresherContext.Provider

function useRefresher(): Refresher {
  const refresher = useContext(RefresherContext)
  if (refresher === null) throw new Error('used outside of RefresherProvider')
  return refresher
}

/** Keeps all queries of the page true. @returns whether the service can be reached */
export function useLive(): boolean {
  const api = useApi()
  const refresher = useRefresher()
  const [isConnected, setConnected] = useState(true)
  useEffect(() => {
    const leave = new AbortController()
    const follow = async () => {
      for await (const { object } of api.events({ tail: 0, signal: leave.signal })) {
        setConnected(true)
        refresher.changed({ kind: object.kind, id: object.id })
      }
    }
    follow().catch((error: unknown) => {
      if (!leave.signal.aborted) setConnected(error === null)
    })
    return () => leave.abort()
  }, [api, refresher])
  return isConnected
}

/** While the component is shown, changes of a kind update its lists entry by entry. */
export function useListUpdate(kind: string, update: ListUpdate): void {
  const refresher = useRefresher()
  useEffect(() => refresher.updateListsOf(kind, update), [refresher, kind, update])
}
