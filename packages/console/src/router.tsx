import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { Shell } from './layout/shell.tsx'
import { NotFound } from './pages/not-found.tsx'
import { SandboxesPage } from './pages/sandboxes/sandboxes-page.tsx'
import { meQuery, SessionProvider } from './session/session.tsx'
import { SignedOutError } from './session/token.ts'
import { ErrorPanel } from './ui/error-panel.tsx'
import { Loading } from './ui/query-view.tsx'

/*
 * Every page and its address. The list of sandboxes is in the first file that a browser loads; every other page is a
 * file of its own.
 */

interface RouterContext {
  readonly queries: QueryClient
}

const root = createRootRouteWithContext<RouterContext>()({ component: Outlet })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } =>
    // Only pages of this console: `//host` would lead to another one.
    typeof next === 'string' && /^\/(?![/\\])/.test(next) ? { next } : {},
  component: lazyRouteComponent(() => import('./pages/account/sign-in-page.tsx'), 'SignInPage'),
})

/** The pages that need a user. */
const member = createRoute({
  getParentRoute: () => root,
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

const start = createRoute({
  getParentRoute: () => member,
  path: '/',
  beforeLoad: () => {
    // oxlint-disable-next-line typescript/only-throw-error
    throw redirect({ to: '/sandboxes', search: {} })
  },
})

/** The filters of the list, which are part of its address. */
export interface SandboxesSearch {
  readonly q?: string
  readonly status?: string
  readonly template?: string
  /** Opens the dialog for a new sandbox. */
  readonly new?: boolean
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

const sandboxes = createRoute({
  getParentRoute: () => member,
  path: '/sandboxes',
  validateSearch: (found: Record<string, unknown>): SandboxesSearch => {
    const [q, status, template] = [text(found['q']), text(found['status']), text(found['template'])]
    return {
      ...(q !== undefined && { q }),
      ...(status !== undefined && { status }),
      ...(template !== undefined && { template }),
      ...(found['new'] === true && { new: true }),
    }
  },
  component: SandboxesPage,
})

const sandbox = createRoute({
  getParentRoute: () => member,
  path: '/sandboxes/$id',
  component: lazyRouteComponent(() => import('./pages/sandbox/sandbox-page.tsx'), 'SandboxPage'),
})

const sandboxOverview = createRoute({
  getParentRoute: () => sandbox,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/sandbox/overview.tsx'), 'Overview'),
})

const tree = root.addChildren([signIn, member.addChildren([start, sandboxes, sandbox.addChildren([sandboxOverview])])])

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queries },
    defaultPreload: 'intent',
    defaultPendingComponent: Loading,
    defaultErrorComponent: ({ error, reset }) => <ErrorPanel error={error} retry={reset} />,
    defaultNotFoundComponent: NotFound,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
}
