import type { Offshoot } from '@offshoot/sdk'
import { createContext, useContext, useEffect, useState } from 'react'
import { useApi } from '../session/session.tsx'
import { SignedOutError } from '../session/token.ts'
import { type ListUpdate, Refresher } from './changes.ts'

/** Milliseconds for which a lost connection is not mentioned. The service ends each stream after an hour. */
const PATIENCE_MS = 2_000
/** Connections that fail before the SDK gives up. The page begins anew, so that its pauses stay short. */
const MAX_FRUITLESS = 3
/** Milliseconds before it does. */
const AGAIN_MS = 1_000

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
    let lost: ReturnType<typeof setTimeout> | undefined
    const onConnection = (isOpen: boolean) => {
      clearTimeout(lost)
      if (isOpen) setConnected(true)
      else if (!leave.signal.aborted) lost = setTimeout(() => setConnected(false), PATIENCE_MS)
    }
    void followForever(api, refresher, leave.signal, onConnection)
    return () => {
      leave.abort()
      clearTimeout(lost)
    }
  }, [api, refresher])
  return isConnected
}

async function followForever(
  api: Offshoot,
  refresher: Refresher,
  signal: AbortSignal,
  onConnection: (isOpen: boolean) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const change of api.changes({ signal, onConnection, maxFruitless: MAX_FRUITLESS })) {
        if (change === 'everything') refresher.everything()
        else refresher.changed(change)
      }
    } catch (error) {
      // The queries notice it too, and lead to the sign-in.
      if (error instanceof SignedOutError) refresher.everything()
    }
    if (signal.aborted) return
    onConnection(false)
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** While the component is shown, changes of a kind update its lists entry by entry. */
export function useListUpdate(kind: string, update: ListUpdate): void {
  const refresher = useRefresher()
  useEffect(() => refresher.updateListsOf(kind, update), [refresher, kind, update])
}
