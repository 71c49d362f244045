import { command, type Group, type Operand, YES } from '../frame/command.ts'
import { keyValues } from '../frame/values.ts'

const HOST: Operand = { form: '<host>', about: 'id of the host; self: the only one' }

export const host: Group = {
  name: 'host',
  summary: 'Machines that run the sandboxes, for operators (OFFSHOOT_OPERATOR_KEY)',
  commands: [
    command({
      name: 'ls',
      summary: 'List hosts with their state, capacity, use, and what runs there',
      options: [
        {
          flags: '-l, --label <key=value>',
          about: 'only hosts with this label (several)',
          parse: keyValues('--label'),
        },
        { flags: '--zone <name>', about: 'only hosts in this zone' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['host ls', 'host ls --label disk=nvme'],
      load: async () => import('./ls.ts'),
    }),
    command({
      name: 'show',
      summary: 'Show one host',
      operands: [HOST],
      hasJson: true,
      hasQuiet: true,
      examples: ['host show self'],
      load: async () => import('./show.ts'),
    }),
    command({
      name: 'cordon',
      summary: 'Keep new sandboxes away from a host; those that it has go on',
      operands: [HOST],
      hasJson: true,
      hasQuiet: true,
      examples: ['host cordon self'],
      load: async () => import('./cordon.ts'),
    }),
    command({
      name: 'uncordon',
      summary: 'Let new sandboxes on a host again, and end its drain',
      operands: [HOST],
      hasJson: true,
      hasQuiet: true,
      examples: ['host uncordon self'],
      load: async () => import('./uncordon.ts'),
    }),
    command({
      name: 'drain',
      summary: 'Move the sandboxes of a host to other hosts, and keep new ones away from it',
      operands: [HOST],
      options: [
        { flags: '--wait', about: 'until everything has been tried; exit code 1 if something stays on the host' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['host drain 4d1f0a52-5d0e-4d5c-9a57-0d8c1f2b6a11 --wait'],
      load: async () => import('./drain.ts'),
    }),
    command({
      name: 'label',
      summary: 'Set or remove labels of a host, which workspaces may require',
      operands: [HOST, { form: '<label...>', about: 'KEY=VALUE sets a label, KEY- removes it' }],
      hasJson: true,
      hasQuiet: true,
      examples: ['host label self disk=nvme', 'host label self disk- gpu=none'],
      load: async () => import('./label.ts'),
    }),
    command({
      name: 'zone',
      summary: 'Say which machines fail together with a host, such as those of a rack',
      operands: [HOST, { form: '<zone>', about: 'name of the zone; -: none' }],
      hasJson: true,
      hasQuiet: true,
      examples: ['host zone self rack-1', 'host zone self -'],
      load: async () => import('./zone.ts'),
    }),
    command({
      name: 'rm',
      summary: 'Remove hosts that have joined; those with objects only for a reason',
      operands: [{ form: '<host...>', about: 'id of the host' }],
      options: [
        { flags: '--reason <text>', about: 'why it is removed with everything on it; the audit log records it' },
        YES,
      ],
      hasQuiet: true,
      examples: ['host rm 4d1f0a52-5d0e-4d5c-9a57-0d8c1f2b6a11 --reason "its disk died" --yes'],
      load: async () => import('./rm.ts'),
    }),
    command({
      name: 'token',
      summary: 'Make a token with which one machine can join within an hour (bin/up --join)',
      hasJson: true,
      examples: ['host token'],
      load: async () => import('./token.ts'),
    }),
  ],
}
