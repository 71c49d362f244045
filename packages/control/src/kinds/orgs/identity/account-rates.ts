/**
 * Rate limits of the account routes, per address and control process: `max` requests in `window` seconds. They exist
 * because passwords can be guessed, and because anyone can make control send mails to an address.
 */
export const ACCOUNT_RATES = {
  window: 10,
  max: 200,
  customRules: {
    '/sign-in/email': { window: 60, max: 60 },
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
