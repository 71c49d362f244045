import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { memberRoute } from '../../member-route.tsx'
import { SandboxesPage } from './sandboxes-page.tsx'
import { sandboxesSearch } from './search.ts'

const sandboxes = createRoute({
  getParentRoute: () => memberRoute,
  path: '/sandboxes',
  validateSearch: sandboxesSearch,
  component: SandboxesPage,
})

const sandbox = createRoute({
  getParentRoute: () => memberRoute,
  path: '/sandboxes/$id',
  component: lazyRouteComponent(() => import('../sandbox/sandbox-page.tsx'), 'SandboxPage'),
})

const overview = createRoute({
  getParentRoute: () => sandbox,
  path: '/',
  component: lazyRouteComponent(() => import('../sandbox/overview.tsx'), 'Overview'),
})

export const sandboxRoutes = [sandboxes, sandbox.addChildren([overview])] as const
