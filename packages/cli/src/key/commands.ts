import { command, type Group } from '../frame/command.ts'
import { duration, several } from '../frame/values.ts'

export const key: Group = {
  name: 'key',
  summary: 'API keys of the workspace; they need a sign-in with an account',
  commands: [
    command({
      name: 'ls',
      summary: 'List API keys, newest first',
      hasJson: true,
      hasQuiet: true,
      examples: ['key ls'],
      load: async () => import('./ls.ts'),
    }),
    command({
      name: 'create',
      summary: 'Create an API key, and print it; nobody can read it later',
      operands: [{ form: '<name>', about: 'what the key is for' }],
      options: [
        { flags: '--scope <scope>', about: 'only this right, as in sandboxes:read (several)', parse: several },
        { flags: '--expires <duration>', about: 'whole days, as in 90d; default: never', parse: duration('--expires') },
      ],
      hasJson: true,
      examples: ['key create ci --scope sandboxes:read --scope sandboxes:write --expires 90d'],
      load: async () => import('./create.ts'),
    }),
    command({
      name: 'rm',
      summary: 'Revoke API keys',
      operands: [{ form: '<key...>', about: 'prefix of a key, or its name', names: 'key' }],
      examples: ['key rm ci'],
      load: async () => import('./rm.ts'),
    }),
  ],
}
