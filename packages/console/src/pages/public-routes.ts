import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { rootRoute } from '../member-route.tsx'

type Found = Record<string, unknown>

/** Only pages of this console: `//host` would lead to another one. */
const isPage = (next: unknown): next is string => typeof next === 'string' && /^\/(?![/\\])/.test(next)

const withNext = ({ next }: Found): { next?: string } => (isPage(next) ? { next } : {})

/** Why a link or a provider led back without success. */
const withError = ({ error }: Found): { error?: string } => (typeof error === 'string' ? { error } : {})

const signIn = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (found: Found) => ({ ...withNext(found), ...withError(found) }),
  component: lazyRouteComponent(() => import('./account/sign-in-page.tsx'), 'SignInPage'),
})

const signUp = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-up',
  validateSearch: withNext,
  component: lazyRouteComponent(() => import('./account/sign-up-page.tsx'), 'SignUpPage'),
})

const forgotPassword = createRoute({
  getParentRoute: () => rootRoute,
  path: '/forgot-password',
  component: lazyRouteComponent(() => import('./account/forgot-password-page.tsx'), 'ForgotPasswordPage'),
})

const resetPassword = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reset-password',
  validateSearch: ({ token }: Found): { token?: string } => (typeof token === 'string' ? { token } : {}),
  component: lazyRouteComponent(() => import('./account/reset-password-page.tsx'), 'ResetPasswordPage'),
})

const verified = createRoute({
  getParentRoute: () => rootRoute,
  path: '/verified',
  validateSearch: withError,
  component: lazyRouteComponent(() => import('./account/verified-page.tsx'), 'VerifiedPage'),
})

const invitation = createRoute({
  getParentRoute: () => rootRoute,
  path: '/invitation',
  component: lazyRouteComponent(() => import('./account/invitation-page.tsx'), 'InvitationPage'),
})

const status = createRoute({
  getParentRoute: () => rootRoute,
  path: '/status',
  component: lazyRouteComponent(() => import('./status/status-page.tsx'), 'StatusPage'),
})

/** The pages that need no user. */
export const publicRoutes = [status, signIn, signUp, forgotPassword, resetPassword, verified, invitation] as const
