import { type ReactNode, useEffect } from 'react'
import { ErrorText } from '../../ui/error-panel.tsx'

interface CardProps {
  readonly title: string
  readonly error?: unknown
  readonly children: ReactNode
}

/** The frame of the pages for people who are not signed in. */
export function Card({ title, error = null, children }: CardProps) {
  useEffect(() => {
    document.title = `${title} · Offshoot`
  }, [title])
  return (
    <main className="flex min-h-full items-center justify-center p-4">
      <div className="flex w-full max-w-sm flex-col gap-4 rounded-xl border bg-surface p-6 shadow-sm">
        <div className="flex items-center gap-3">
          <img src="/icon.svg" alt="" width={32} height={32} />
          <h1 className="text-lg font-semibold">{title}</h1>
        </div>
        {error !== null && <ErrorText error={error} />}
        {children}
      </div>
    </main>
  )
}
