import { useState } from 'react'

export interface Attempt {
  readonly error: unknown
  readonly isBusy: boolean
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>
}

/** Runs one action at a time and keeps the error of the last one. */
export function useAttempt(): Attempt {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const attempt = async (work: () => Promise<unknown>) => {
    setBusy(true)
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return { error, isBusy, attempt }
}
