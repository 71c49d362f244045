import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { memberRoute } from '../../member-route.tsx'

const databases = createRoute({
  getParentRoute: () => memberRoute,
  path: '/databases',
  validateSearch: ({ new: isNew }: Record<string, unknown>): { new?: true | undefined } =>
    isNew === true ? { new: true } : {},
  component: lazyRouteComponent(() => import('./databases-page.tsx'), 'DatabasesPage'),
})

const database = createRoute({
  getParentRoute: () => memberRoute,
  path: '/databases/$id',
  component: lazyRouteComponent(() => import('./database-page.tsx'), 'DatabasePage'),
})

const connect = createRoute({
  getParentRoute: () => database,
  path: '/',
  component: lazyRouteComponent(() => import('./connect-tab.tsx'), 'ConnectTab'),
})

const sql = createRoute({
  getParentRoute: () => database,
  path: 'sql',
  component: lazyRouteComponent(() => import('./sql/sql-tab.tsx'), 'SqlTab'),
})

const branches = createRoute({
  getParentRoute: () => database,
  path: 'branches',
  component: lazyRouteComponent(() => import('./branches-tab.tsx'), 'BranchesTab'),
})

const backups = createRoute({
  getParentRoute: () => database,
  path: 'backups',
  component: lazyRouteComponent(() => import('./backups-tab.tsx'), 'BackupsTab'),
})

const stats = createRoute({
  getParentRoute: () => database,
  path: 'stats',
  component: lazyRouteComponent(() => import('./stats-tab.tsx'), 'StatsTab'),
})

const logs = createRoute({
  getParentRoute: () => database,
  path: 'logs',
  component: lazyRouteComponent(() => import('./logs-tab.tsx'), 'LogsTab'),
})

const settings = createRoute({
  getParentRoute: () => database,
  path: 'settings',
  component: lazyRouteComponent(() => import('./settings-tab.tsx'), 'SettingsTab'),
})

export const databaseRoutes = [
  databases,
  database.addChildren([connect, sql, branches, backups, stats, logs, settings]),
] as const
