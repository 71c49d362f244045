import { type Command, command } from '../frame/command.ts'
import { oneOf } from '../frame/values.ts'

export const ssh: readonly Command[] = [
  command({
    name: 'ssh-config',
    summary: 'Prepare OpenSSH for the sandboxes: a key, a certificate that is renewed, and a configuration',
    operands: [{ form: '[sandbox...]', about: 'only entries for these; default: all', names: 'sandbox' }],
    options: [
      { flags: '--write', about: 'write the configuration to a file, and include that in ~/.ssh/config' },
      {
        flags: '--renew <when>',
        about: 'only renew the certificate: always, or expired; the configuration does that',
        parse: oneOf('--renew', ['always', 'expired']),
        words: ['always', 'expired'],
      },
    ],
    examples: ['ssh-config', 'ssh-config --write && ssh web.offshoot'],
    load: async () => import('./ssh-config.ts'),
  }),
]
