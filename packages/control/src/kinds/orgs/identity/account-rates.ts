/**
 * How often one address may call the routes of accounts, in each control process: `max` times in `window` seconds. Passwords
 * are what people choose, so they can be guessed; mails go to people who did not ask for them.
 */
export const ACCOUNT_RATES = {
  window: 10,
  max: 200,
  customRules: {
    '/sign-in/email': { window: 60, max: 60 },
    '/sign-up/email': { window: 60, max: 60 },
    '/change-password': { window: 60, max: 20 },
    '/reset-password': { window: 60, max: 20 },
    '/request-password-reset': { window: 60, max: 20 },
    '/send-verification-email': { window: 60, max: 20 },
  },
} as const
