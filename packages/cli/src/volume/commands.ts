import { command, type Group, type Operand, YES } from '../frame/command.ts'
import { mebibytes } from '../frame/values.ts'

const VOLUME: Operand = { form: '<volume>', about: 'name', names: 'volume' }

export const volume: Group = {
  name: 'volume',
  summary: 'Disks that stay when sandboxes go',
  commands: [
    command({
      name: 'ls',
      summary: 'List volumes, newest first',
      options: [
        { flags: '--attached', about: 'only volumes that a sandbox has' },
        { flags: '--free', about: 'only volumes that no sandbox has' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['volume ls', 'volume ls --free -q'],
      load: async () => import('./ls.ts'),
    }),
    command({
      name: 'create',
      summary: 'Create a volume, and print its name',
      operands: [{ form: '<name>', about: 'letters, digits, ".", "_" and "-"' }],
      options: [
        {
          flags: '-s, --size <size>',
          about: 'MiB, or as in 512m, 2g; default: 256, or that of the snapshot',
          parse: mebibytes('--size'),
        },
        { flags: '--from-snapshot <id>', about: 'begin with the data of a volume snapshot' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['volume create data --size 1g', 'sandbox create web --volume data'],
      load: async () => import('./create.ts'),
    }),
    command({
      name: 'show',
      summary: 'Show one volume, and the sandboxes that have it',
      operands: [VOLUME],
      hasJson: true,
      hasQuiet: true,
      examples: ['volume show data'],
      load: async () => import('./show.ts'),
    }),
    command({
      name: 'resize',
      summary: 'Make a volume larger, also while a sandbox has it',
      operands: [VOLUME, { form: '<size>', about: 'MiB, or as in 512m, 2g' }],
      hasJson: true,
      examples: ['volume resize data 2g'],
      load: async () => import('./resize.ts'),
    }),
    command({
      name: 'clone',
      summary: 'Copy a volume, also while a sandbox writes it',
      operands: [VOLUME, { form: '<name>', about: 'name of the copy' }],
      hasJson: true,
      hasQuiet: true,
      examples: ['volume clone data copy'],
      load: async () => import('./clone.ts'),
    }),
    command({
      name: 'snapshot',
      summary: 'Keep the data of a volume, and print the id of the snapshot',
      operands: [VOLUME],
      hasJson: true,
      hasQuiet: true,
      examples: ['volume snapshot data'],
      load: async () => import('./snapshot.ts'),
    }),
    command({
      name: 'snapshots',
      summary: 'List the snapshots of a volume, or delete one',
      operands: [VOLUME],
      options: [{ flags: '--rm <id>', about: 'delete this snapshot; the beginning of its id is enough' }, YES],
      hasJson: true,
      hasQuiet: true,
      examples: ['volume snapshots data'],
      load: async () => import('./snapshots.ts'),
    }),
    command({
      name: 'rm',
      summary: 'Delete volumes and what is in them',
      operands: [{ ...VOLUME, form: '<volume...>' }],
      options: [YES],
      hasQuiet: true,
      examples: ['volume rm data --yes'],
      load: async () => import('./rm.ts'),
    }),
  ],
}
