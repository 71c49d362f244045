import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../member-route.tsx'

const signIn = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } =>
    // Only pages of this console: `//host` would lead to another one.
    typeof next === 'string' && /^\/(?![/\\])/.test(next) ? { next } : {},
  component: lazyRouteComponent(() => import('./account/sign-in-page.tsx'), 'SignInPage'),
})

/** The pages that need no user. */
export const publicRoutes = [signIn] as const
