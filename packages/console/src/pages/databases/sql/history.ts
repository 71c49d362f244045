import { useState } from 'react'

/** Statements that are kept for each database, in this browser only. */
const MAX_KEPT = 100

export interface PastRun {
  readonly sql: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly outcome: string
}

const keyOf = (database: string) => `offshoot-sql-${database}`

function read(database: string): readonly PastRun[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(database)) ?? '[]')
    return Array.isArray(kept) ? (kept as PastRun[]) : []
  } catch {
    return []
  }
}

/** What was run in a database, newest first. */
export function useHistory(database: string) {
  const [runs, setRuns] = useState(() => read(database))
  const change = (next: readonly PastRun[]) => {
    setRuns(next)
    try {
      localStorage.setItem(keyOf(database), JSON.stringify(next))
    } catch {
      // The browser's storage is full. The history stays until the page is left.
    }
  }
  return {
    runs,
    add: (run: PastRun) => change([run, ...runs.filter(({ sql }) => sql !== run.sql)].slice(0, MAX_KEPT)),
    clear: () => change([]),
  }
}
