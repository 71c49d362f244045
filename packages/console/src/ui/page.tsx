import { type ReactNode, useEffect } from 'react'

interface PageProps {
  readonly title: string
  readonly description?: ReactNode
  /** Buttons, at the right of the title. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** The frame of every page: its title, its actions, its content. */
export function Page({ title, description, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Offshoot`
  }, [title])
  return (
    <div className="mx-auto flex w-full max-w-7xl flex-col gap-5 p-4 sm:p-6">
      <header className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <h1 className="plaintext text-xl font-semibold">{title}</h1>
          {description !== undefined && <div className="mt-1 text-muted">{description}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

/** A bordered part of a page, with a heading. */
export function Section({ title, actions, children }: Omit<PageProps, 'description'>) {
  return (
    <section className="min-w-0 rounded-lg border bg-surface" aria-label={title}>
      <header className="flex min-h-12 flex-wrap items-center justify-between gap-2 border-b px-4 py-2">
        <h2 className="font-semibold">{title}</h2>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      <div className="p-4">{children}</div>
    </section>
  )
}

/** Names with their values. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, ReactNode>> }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
      {Object.entries(facts).map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="plaintext min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
