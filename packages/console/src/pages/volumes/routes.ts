import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { memberRoute } from '../../member-route.tsx'

const volumes = createRoute({
  getParentRoute: () => memberRoute,
  path: '/volumes',
  component: lazyRouteComponent(() => import('./volumes-page.tsx'), 'VolumesPage'),
})

const volume = createRoute({
  getParentRoute: () => memberRoute,
  path: '/volumes/$name',
  component: lazyRouteComponent(() => import('./volume-page.tsx'), 'VolumePage'),
})

export const volumeRoutes = [volumes, volume] as const
