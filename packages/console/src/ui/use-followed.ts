import { useEffect, useState } from 'react'

/** Entries that stay in the page. Older ones go. */
const MAX_ENTRIES = 20_000
/** Milliseconds for which entries are collected, so that a fast log does not render with every line. */
const COLLECT_MS = 50

export interface Followed<T> {
  readonly entries: readonly T[]
  readonly error: unknown
  /** The stream has ended by itself. */
  readonly isOver: boolean
}

const NOTHING: Followed<never> = { entries: [], error: null, isOver: false }

/** Collects what a stream yields while the component is shown. @param open must be stable: another one begins anew */
export function useFollowed<T>(open: (signal: AbortSignal) => AsyncIterable<T>): Followed<T> & { retry: () => void } {
  const [followed, setFollowed] = useState<Followed<T>>(NOTHING)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const leave = new AbortController()
    let collected: T[] = []
    let timer: ReturnType<typeof setTimeout> | null = null
    let isFirst = true
    const show = (end: Partial<Followed<T>> = {}) => {
      if (timer !== null) clearTimeout(timer)
      timer = null
      const [more, begins] = [collected, isFirst]
      collected = []
      isFirst = false
      setFollowed((old) => ({
        error: null,
        isOver: false,
        ...end,
        entries: [...(begins ? [] : old.entries), ...more].slice(-MAX_ENTRIES),
      }))
    }
    const read = async () => {
      for await (const entry of open(leave.signal)) {
        collected.push(entry)
        timer ??= setTimeout(show, COLLECT_MS)
      }
      if (!leave.signal.aborted) show({ isOver: true })
    }
    read().catch((error: unknown) => {
      if (!leave.signal.aborted) show({ error })
    })
    return () => {
      leave.abort()
      if (timer !== null) clearTimeout(timer)
    }
  }, [open, attempt])
  return { ...followed, retry: () => setAttempt(attempt + 1) }
}
