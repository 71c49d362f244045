import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { Shell } from './layout/shell.tsx'
import { meQuery, SessionProvider } from './session/session.tsx'
import { SignedOutError } from './session/token.ts'

interface RouterContext {
  readonly queries: QueryClient
}

/** Above all pages. Public pages are its children. */
export const rootRoute = createRootRouteWithContext<RouterContext>()({ component: Outlet })

/** Above the pages that need a user. */
export const memberRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'member',
  beforeLoad: async ({ context: { queries }, location }) => {
    try {
      await queries.ensureQueryData(meQuery)
    } catch (error) {
      // oxlint-disable-next-line typescript/only-throw-error
      if (error instanceof SignedOutError) throw redirect({ to: '/sign-in', search: { next: location.href } })
      throw error
    }
  },
  component: () => (
    <SessionProvider>
      <Shell />
    </SessionProvider>
  ),
})
