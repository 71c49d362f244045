import { command, type Group, type Operand, YES } from '../frame/command.ts'
import { integer, mebibytes, oneOf } from '../frame/values.ts'

const TEMPLATE: Operand = { form: '<template>', about: 'name', names: 'template' }
const BUILD: Operand = { form: '<build>', about: 'id of a build, or its beginning' }
const STATES = ['queued', 'running', 'baking', 'done', 'failed']

/** Options of both ways to make a template. */
const making = [
  { flags: '--start <command>', about: 'runs once; what it starts runs in every sandbox' },
  { flags: '--ready <command>', about: 'repeated until it exits 0; then the template is frozen' },
  { flags: '--replace', about: 'replace the template of that name once the build is done' },
  { flags: '-d, --detach', about: 'print the id of the build, and do not wait' },
]

export const template: Group = {
  name: 'template',
  summary: 'Images that sandboxes begin with',
  commands: [
    command({
      name: 'ls',
      summary: 'List templates by name',
      options: [{ flags: '--own', about: 'only templates of the workspace' }],
      hasJson: true,
      hasQuiet: true,
      examples: ['template ls', 'template ls --own -q'],
      load: async () => import('./ls.ts'),
    }),
    command({
      name: 'show',
      summary: 'Show one template',
      operands: [TEMPLATE],
      hasJson: true,
      hasQuiet: true,
      examples: ['template show base'],
      load: async () => import('./show.ts'),
    }),
    command({
      name: 'build',
      summary: 'Build a template of a folder or an archive, and print its name',
      operands: [
        { form: '<name>', about: 'letters, digits, ".", "_" and "-"' },
        {
          form: '<source>',
          about: 'a folder, a tar archive, the output of docker save or docker export; -: the input',
        },
      ],
      options: [
        {
          flags: '-s, --size <size>',
          about: 'of the disk: MiB, or as in 512m, 2g; default: 1g',
          parse: mebibytes('--size'),
        },
        { flags: '--cpu <count>', about: 'vCPUs; default: 1', parse: integer('--cpu', 1, 16) },
        {
          flags: '--memory <size>',
          about: 'MiB, or as in 512m, 2g; default: 512',
          parse: mebibytes('--memory'),
        },
        ...making,
      ],
      hasJson: true,
      hasQuiet: true,
      examples: [
        'template build web ./image.tar --start "node /app/server.js"',
        'template build web ./rootfs --size 2g --replace',
        'template build web - < image.tar',
      ],
      load: async () => import('./build.ts'),
    }),
    command({
      name: 'save',
      summary: 'Build a template of a sandbox, and print its name',
      operands: [
        { form: '<sandbox>', about: 'name, id, or the beginning of an id', names: 'sandbox' },
        { form: '<name>', about: 'letters, digits, ".", "_" and "-"' },
      ],
      options: [{ flags: '--memory', about: 'keep its memory: sandboxes go on where it stood' }, ...making],
      hasJson: true,
      hasQuiet: true,
      examples: ['template save web my-web', 'template save web my-web --memory'],
      load: async () => import('./save.ts'),
    }),
    command({
      name: 'builds',
      summary: 'List builds, newest first',
      operands: [{ ...TEMPLATE, form: '[template]' }],
      options: [
        {
          flags: '--status <state>',
          about: 'only builds in this state',
          parse: oneOf('--status', STATES),
          words: STATES,
        },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['template builds', 'template builds web --status failed'],
      load: async () => import('./builds.ts'),
    }),
    command({
      name: 'logs',
      summary: 'Show the log of a build',
      operands: [{ form: '<template>', about: 'name, for its newest build, or the id of a build', names: 'template' }],
      options: [{ flags: '-f, --follow', about: 'wait until the build ends; reconnects without gaps' }],
      examples: ['template logs web', 'template logs -f web'],
      load: async () => import('./logs.ts'),
    }),
    command({
      name: 'cancel',
      summary: 'Cancel a build',
      operands: [BUILD],
      hasQuiet: true,
      examples: ['template cancel 1f2e3d4c'],
      load: async () => import('./cancel.ts'),
    }),
    command({
      name: 'rm',
      summary: 'Delete templates; sandboxes of them go on',
      operands: [{ ...TEMPLATE, form: '<template...>' }],
      options: [YES],
      hasQuiet: true,
      examples: ['template rm web --yes'],
      load: async () => import('./rm.ts'),
    }),
  ],
}
