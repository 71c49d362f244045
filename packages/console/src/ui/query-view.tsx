import { NotFoundError } from '@offshoot/sdk'
import type { UseQueryResult } from '@tanstack/react-query'
import { LoaderCircle } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { ErrorPanel } from './error-panel.tsx'

/** Milliseconds before a wait is shown: most answers come earlier, and a flash disturbs. */
const SHOW_WAIT_MS = 150

interface QueryViewProps<T> {
  readonly query: UseQueryResult<T>
  /** The data is what the whole page is about. */
  readonly ofPage?: boolean
  readonly children: (data: T) => ReactNode
}

/**
 * The data of a query, or its picture while it is loading or failed. Old data stays when a later request fails, unless
 * the object was deleted meanwhile.
 */
export function QueryView<T>({ query, ofPage = false, children }: QueryViewProps<T>) {
  const isGone = query.error instanceof NotFoundError
  if (query.data !== undefined && !isGone) return children(query.data)
  if (query.isError) return <ErrorPanel error={query.error} retry={() => void query.refetch()} ofPage={ofPage} />
  return <Loading />
}

export function Loading() {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SHOW_WAIT_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div role="status" className="flex justify-center py-16 text-muted" aria-label="Loading">
      {isShown && <LoaderCircle className="animate-spin" aria-hidden />}
    </div>
  )
}
