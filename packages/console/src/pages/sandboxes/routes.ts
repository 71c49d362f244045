import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
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

const index = createRoute({
  getParentRoute: () => sandbox,
  path: '/',
  beforeLoad: ({ params }) => {
    // oxlint-disable-next-line typescript/only-throw-error
    throw redirect({ to: '/sandboxes/$id/terminal', params, replace: true })
  },
})

const terminal = createRoute({
  getParentRoute: () => sandbox,
  path: '/terminal',
  component: lazyRouteComponent(() => import('../sandbox/terminal/terminal-page.tsx'), 'TerminalPage'),
})

const path = ({ path: found }: Record<string, unknown>): { path?: string } =>
  typeof found === 'string' && found.startsWith('/') ? { path: found } : {}

const files = createRoute({
  getParentRoute: () => sandbox,
  path: '/files',
  validateSearch: path,
  component: lazyRouteComponent(() => import('../sandbox/files/files-page.tsx'), 'FilesPage'),
})

const changes = createRoute({
  getParentRoute: () => sandbox,
  path: '/changes',
  validateSearch: path,
  component: lazyRouteComponent(() => import('../sandbox/files/changes-page.tsx'), 'ChangesPage'),
})

const commands = createRoute({
  getParentRoute: () => sandbox,
  path: '/commands',
  validateSearch: ({ exec }: Record<string, unknown>): { exec?: string } =>
    typeof exec === 'string' && exec !== '' ? { exec } : {},
  component: lazyRouteComponent(() => import('../sandbox/commands/commands-page.tsx'), 'CommandsPage'),
})

const ports = createRoute({
  getParentRoute: () => sandbox,
  path: '/ports',
  component: lazyRouteComponent(() => import('../sandbox/ports/ports-page.tsx'), 'PortsPage'),
})

const logs = createRoute({
  getParentRoute: () => sandbox,
  path: '/logs',
  component: lazyRouteComponent(() => import('../sandbox/logs/logs-page.tsx'), 'LogsPage'),
})

const timeline = createRoute({
  getParentRoute: () => sandbox,
  path: '/timeline',
  component: lazyRouteComponent(() => import('../sandbox/timeline/timeline-page.tsx'), 'TimelinePage'),
})

const metrics = createRoute({
  getParentRoute: () => sandbox,
  path: '/metrics',
  component: lazyRouteComponent(() => import('../sandbox/metrics/metrics-page.tsx'), 'MetricsPage'),
})

const overview = createRoute({
  getParentRoute: () => sandbox,
  path: '/overview',
  component: lazyRouteComponent(() => import('../sandbox/overview/overview-page.tsx'), 'OverviewPage'),
})

const lineage = createRoute({
  getParentRoute: () => sandbox,
  path: '/lineage',
  component: lazyRouteComponent(() => import('../lineage/lineage-page.tsx'), 'LineagePage'),
})

export const sandboxRoutes = [
  sandboxes,
  sandbox.addChildren([index, terminal, overview, lineage, files, changes, commands, ports, logs, timeline, metrics]),
] as const
