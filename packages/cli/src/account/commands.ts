import { type Command, command } from '../frame/command.ts'

/** Commands that sign in and out, and choose the workspace. */
export const account: readonly Command[] = [
  command({
    name: 'login',
    summary: 'Sign in to a server: with an API key, or with an account',
    options: [
      {
        flags: '--email <address>',
        about: 'sign in with this account; the password is asked for, or read from the standard input',
      },
      { flags: '--credentials <file>', about: 'take address and key from the credentials.json that offshoot up wrote' },
    ],
    examples: [
      'login',
      'login --email me@example.com',
      'login --credentials .offshoot/credentials.json',
      'login < key.txt',
    ],
    load: async () => import('./login.ts'),
  }),
  command({
    name: 'logout',
    summary: 'End the session, and forget every credential',
    examples: ['logout'],
    load: async () => import('./logout.ts'),
  }),
  command({
    name: 'whoami',
    summary: 'Show the server, the account and the workspace',
    hasJson: true,
    examples: ['whoami'],
    load: async () => import('./whoami.ts'),
  }),
  command({
    name: 'use',
    summary: 'Choose the workspace of all further commands, or list the workspaces',
    operands: [{ form: '[workspace]', about: 'slug, name, id, or the beginning of an id', names: 'workspace' }],
    hasJson: true,
    hasQuiet: true,
    examples: ['use', 'use acme'],
    load: async () => import('./use.ts'),
  }),
]
