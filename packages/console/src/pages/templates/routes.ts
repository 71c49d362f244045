import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { memberRoute } from '../../member-route.tsx'

const templates = createRoute({
  getParentRoute: () => memberRoute,
  path: '/templates',
  component: lazyRouteComponent(() => import('./templates-page.tsx'), 'TemplatesPage'),
})

const template = createRoute({
  getParentRoute: () => memberRoute,
  path: '/templates/$name',
  component: lazyRouteComponent(() => import('./template-page.tsx'), 'TemplatePage'),
})

const build = createRoute({
  getParentRoute: () => memberRoute,
  path: '/builds/$id',
  component: lazyRouteComponent(() => import('./build-page.tsx'), 'BuildPage'),
})

export const templateRoutes = [templates, template, build] as const
