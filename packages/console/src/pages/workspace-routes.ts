import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { memberRoute } from '../member-route.tsx'

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

/** Usage, members, keys, webhooks, audit log, settings and hosts. */
export const workspaceRoutes = [keys, members, settings.addChildren([workspaceSettings, accountSettings])] as const
