import { command, type Group, type Operand, YES } from '../frame/command.ts'

const SNAPSHOT: Operand = { form: '<snapshot>', about: 'name, id, or the beginning of an id', names: 'snapshot' }

export const snapshot: Group = {
  name: 'snapshot',
  summary: 'Sandboxes as they were at an instant: memory and disk',
  commands: [
    command({
      name: 'ls',
      summary: 'List snapshots, newest first',
      options: [
        { flags: '--name <name>', about: 'only snapshots of this name', names: 'snapshot' },
        { flags: '--sandbox <sandbox>', about: 'only snapshots of this sandbox', names: 'sandbox' },
        { flags: '-t, --template <name>', about: 'only snapshots of sandboxes of this template', names: 'template' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['snapshot ls', 'snapshot ls --sandbox web -q'],
      load: async () => import('./ls.ts'),
    }),
    command({
      name: 'show',
      summary: 'Show one snapshot',
      operands: [SNAPSHOT],
      hasJson: true,
      hasQuiet: true,
      examples: ['snapshot show before-upgrade'],
      load: async () => import('./show.ts'),
    }),
    command({
      name: 'rm',
      summary: 'Delete snapshots',
      operands: [{ ...SNAPSHOT, form: '<snapshot...>' }],
      options: [YES],
      hasQuiet: true,
      examples: ['snapshot rm before-upgrade --yes'],
      load: async () => import('./rm.ts'),
    }),
  ],
}
