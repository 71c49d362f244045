import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { memberRoute } from '../member-route.tsx'
import { auditSearch } from './audit/audit-search.ts'

const keys = createRoute({
  getParentRoute: () => memberRoute,
  path: '/keys',
  component: lazyRouteComponent(() => import('./keys/keys-page.tsx'), 'KeysPage'),
})

const members = createRoute({
  getParentRoute: () => memberRoute,
  path: '/members',
  component: lazyRouteComponent(() => import('./members/members-page.tsx'), 'MembersPage'),
})

const settings = createRoute({
  getParentRoute: () => memberRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('./settings/settings-page.tsx'), 'SettingsPage'),
})

const workspaceSettings = createRoute({
  getParentRoute: () => settings,
  path: '/',
  component: lazyRouteComponent(() => import('./settings/workspace-settings.tsx'), 'WorkspaceSettings'),
})

const accountSettings = createRoute({
  getParentRoute: () => settings,
  path: '/account',
  component: lazyRouteComponent(() => import('./settings/account-settings.tsx'), 'AccountSettings'),
})

const usage = createRoute({
  getParentRoute: () => memberRoute,
  path: '/usage',
  component: lazyRouteComponent(() => import('./usage/usage-page.tsx'), 'UsagePage'),
})

const audit = createRoute({
  getParentRoute: () => memberRoute,
  path: '/audit',
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import('./audit/audit-page.tsx'), 'AuditPage'),
})

const webhooks = createRoute({
  getParentRoute: () => memberRoute,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})

const webhook = createRoute({
  getParentRoute: () => memberRoute,
  path: '/webhooks/$id',
  component: lazyRouteComponent(() => import('./webhooks/webhook-page.tsx'), 'WebhookPage'),
})

const operator = createRoute({
  getParentRoute: () => memberRoute,
  path: '/hosts',
  component: lazyRouteComponent(() => import('./hosts/operator-page.tsx'), 'OperatorPage'),
})

const operatorTabs = [
  createRoute({
    getParentRoute: () => operator,
    path: '/',
    component: lazyRouteComponent(() => import('./hosts/hosts-tab.tsx'), 'HostsTab'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/host/$id',
    component: lazyRouteComponent(() => import('./hosts/host-tab.tsx'), 'HostTab'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/jobs',
    component: lazyRouteComponent(() => import('./hosts/jobs-tab.tsx'), 'JobsTab'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/workspaces',
    component: lazyRouteComponent(() => import('./hosts/workspaces-tab.tsx'), 'WorkspacesTab'),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: '/operators',
    component: lazyRouteComponent(() => import('./hosts/operators-tab.tsx'), 'OperatorsTab'),
  }),
] as const

/** Usage, members, keys, webhooks, audit log, settings and hosts. */
export const workspaceRoutes = [
  keys,
  members,
  usage,
  audit,
  webhooks,
  webhook,
  settings.addChildren([workspaceSettings, accountSettings]),
  operator.addChildren(operatorTabs),
] as const
