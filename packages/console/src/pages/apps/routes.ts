import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { memberRoute } from '../../member-route.tsx'

const apps = createRoute({
  getParentRoute: () => memberRoute,
  path: '/apps',
  component: lazyRouteComponent(() => import('./apps-page.tsx'), 'AppsPage'),
})

const app = createRoute({
  getParentRoute: () => memberRoute,
  path: '/apps/$id',
  component: lazyRouteComponent(() => import('./app-page.tsx'), 'AppPage'),
})

const deployments = createRoute({
  getParentRoute: () => app,
  path: '/',
  component: lazyRouteComponent(() => import('./deployments-tab.tsx'), 'DeploymentsTab'),
})

const deployment = createRoute({
  getParentRoute: () => app,
  path: 'deployments/$deployment',
  component: lazyRouteComponent(() => import('./deployment-tab.tsx'), 'DeploymentTab'),
})

const domains = createRoute({
  getParentRoute: () => app,
  path: 'domains',
  component: lazyRouteComponent(() => import('./domains-tab.tsx'), 'DomainsTab'),
})

const previews = createRoute({
  getParentRoute: () => app,
  path: 'previews',
  component: lazyRouteComponent(() => import('./previews-tab.tsx'), 'PreviewsTab'),
})

const logs = createRoute({
  getParentRoute: () => app,
  path: 'logs',
  component: lazyRouteComponent(() => import('./runtime-log-tab.tsx'), 'RuntimeLogTab'),
})

const settings = createRoute({
  getParentRoute: () => app,
  path: 'settings',
  component: lazyRouteComponent(() => import('./settings-tab.tsx'), 'SettingsTab'),
})

export const appRoutes = [apps, app.addChildren([deployments, deployment, domains, previews, logs, settings])] as const
