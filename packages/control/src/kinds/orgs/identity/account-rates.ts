import type { BetterAuthOptions } from 'better-auth'

type RateStore = NonNullable<NonNullable<BetterAuthOptions['rateLimit']>['customStorage']>

/** Windows that are counted at the same time. Beyond that, the oldest are dropped. */
const MAX_KEPT = 100_000

/**
 * Rate limits of the account routes, per address and control process: `max` requests in `window` seconds. They exist
 * because passwords can be guessed, and because anyone can make control send mails to an address.
 */
export const ACCOUNT_RATES = {
  window: 10,
  max: 200,
  customRules: {
    '/sign-in/email': { window: 60, max: 60 },
    '/sign-in/link': { window: 60, max: 60 },
    '/sign-in/social': { window: 60, max: 60 },
    '/sign-up/email': { window: 60, max: 60 },
    '/change-password': { window: 60, max: 20 },
    '/reset-password': { window: 60, max: 20 },
    '/request-password-reset': { window: 60, max: 20 },
    '/send-verification-email': { window: 60, max: 20 },
    '/two-factor/*': { window: 60, max: 60 },
    '/passkey/*': { window: 60, max: 60 },
  },
} as const

/**
 * Counts requests in this process's memory. The library's own store is searched as a whole for each request, and shared by
 * all instances in the process.
 */
export function rateStore(): RateStore {
  const windows = new Map<string, { count: number; readonly endsAtMs: number }>()
  return {
    consume: async (key, { window, max }) => {
      const now = performance.now()
      let counted = windows.get(key)
      if (counted === undefined || counted.endsAtMs <= now) {
        windows.delete(key)
        for (const [oldest, { endsAtMs }] of windows) {
          if (endsAtMs > now && windows.size < MAX_KEPT) break
          windows.delete(oldest)
        }
        counted = { count: 0, endsAtMs: now + window * 1000 }
        windows.set(key, counted)
      }
      if (counted.count >= max) return { allowed: false, retryAfter: Math.ceil((counted.endsAtMs - now) / 1000) }
      counted.count += 1
      return { allowed: true, retryAfter: null }
    },
  }
}
