import type { QueryClient } from '@tanstack/react-query'
import { createRoute, createRouter, redirect } from '@tanstack/react-router'
import { memberRoute, rootRoute } from './member-route.tsx'
import { NotFound } from './pages/not-found.tsx'
import { publicRoutes } from './pages/public-routes.ts'
import { resourceRoutes } from './pages/resource-routes.ts'
import { sandboxRoutes } from './pages/sandboxes/routes.ts'
import { workspaceRoutes } from './pages/workspace-routes.ts'
import { ErrorPanel } from './ui/error-panel.tsx'
import { Loading } from './ui/query-view.tsx'

/*
 * The addresses of all pages. The list of sandboxes is in the first file that a browser loads; every other page is a
 * file of its own.
 */

const start = createRoute({
  getParentRoute: () => memberRoute,
  path: '/',
  beforeLoad: () => {
    // oxlint-disable-next-line typescript/only-throw-error
    throw redirect({ to: '/sandboxes', search: {} })
  },
})

const tree = rootRoute.addChildren([
  ...publicRoutes,
  memberRoute.addChildren([start, ...sandboxRoutes, ...resourceRoutes, ...workspaceRoutes]),
])

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queries },
    defaultPreload: 'intent',
    defaultPendingComponent: Loading,
    defaultErrorComponent: ({ error, reset }) => <ErrorPanel error={error} retry={reset} ofPage />,
    defaultNotFoundComponent: NotFound,
    notFoundMode: 'root',
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
}
