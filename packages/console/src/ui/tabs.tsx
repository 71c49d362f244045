import { Link, type LinkProps, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

interface TabLinksProps {
  readonly label: string
  readonly tabs: readonly { readonly label: string; readonly link: LinkProps }[]
}

/** Tabs that are pages of their own, so that each has an address. */
export function TabLinks({ label, tabs }: TabLinksProps) {
  const row = useRef<HTMLElement>(null)
  const { pathname } = useRouterState({ select: ({ location }) => location })
  useEffect(() => {
    // On a phone, the tab of this page may be outside of the row's visible part.
    row.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [pathname])
  return (
    <nav ref={row} aria-label={label} className="-mx-4 overflow-x-auto border-b px-4 sm:mx-0 sm:px-0">
      <ul className="flex gap-1">
        {tabs.map(({ label: name, link }) => (
          <li key={name}>
            <Link
              {...link}
              className="block border-b-2 border-transparent px-3 py-2 whitespace-nowrap text-muted no-underline hover:text-ink"
              activeProps={{ className: '!border-accent !text-ink font-medium', 'aria-current': 'page' }}
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
