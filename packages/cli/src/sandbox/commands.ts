import { command, type Group, type Operand } from '../frame/command.ts'
import { LINK_OPTIONS, LINKS_OPTIONS } from '../frame/link-options.ts'
import { duration, integer, keyValues, oneOf, several } from '../frame/values.ts'
import { lifetime, visibility } from './options.ts'

const SANDBOX: Operand = { form: '<sandbox>', about: 'name, id, or the beginning of an id', names: 'sandbox' }
const PORT: Operand = { form: '<port>', about: 'that a server in the sandbox listens on' }
const STATES = ['creating', 'running', 'paused', 'hibernated', 'failed']

/** Commands that change the state of sandboxes, with what they do. */
const moves = [
  ['pause', 'Stop the CPUs of sandboxes; their memory stays'] as const,
  ['resume', 'Let paused sandboxes continue'] as const,
  ['hibernate', 'Write the memory of sandboxes to disk and end their VMs'] as const,
  ['wake', 'Restore hibernated sandboxes'] as const,
].map(([name, summary]) =>
  command({
    name,
    summary,
    operands: [{ ...SANDBOX, form: '<sandbox...>' }],
    options: name === 'hibernate' ? [{ flags: '--no-memory', about: 'keep only the disk; processes end' }] : [],
    hasJson: true,
    examples: [`sandbox ${name} web`],
    load: async () => {
      const { runMove } = await import('./move.ts')
      return { run: async (cli, line) => runMove(cli, line, name) }
    },
  }),
)

/** The options of a terminal. `offshoot shell` has them too. */
export const shell = command({
  name: 'shell',
  summary: 'Open a terminal in a sandbox',
  operands: [SANDBOX, { form: '[command...]', about: 'runs on the terminal; default: a login shell' }],
  options: [
    { flags: '-s, --session <name>', about: 'keep the terminal when you leave, or come back to it' },
    { flags: '-u, --user <name>', about: 'user of the sandbox; default: root' },
    { flags: '-C, --cwd <path>', about: 'folder to begin in; default: the home of the user' },
    {
      flags: '--detach-key <key>',
      about: 'leaves a kept terminal: ctrl-a to ctrl-z, ctrl-], or none; default: ctrl-]',
    },
  ],
  passesOptions: true,
  examples: ['shell web', 'shell --session work web', 'shell web -- top'],
  load: async () => import('./shell.ts'),
})

/** Copies files; `offshoot cp` is the same. */
export const cp = command({
  name: 'cp',
  summary: 'Copy files and folders to a sandbox, from one, or between two',
  operands: [
    { form: '<source>', about: 'a path on this machine, or SANDBOX:/path', names: 'sandbox' },
    { form: '<target>', about: 'the same; a copy goes into a folder that exists', names: 'sandbox' },
  ],
  options: [{ flags: '-u, --user <name>', about: 'user of the sandbox whose rights apply; default: root' }],
  hasJson: true,
  examples: ['cp ./site web:/srv', 'cp web:/var/log/app.log .', 'cp web:/srv other:/srv'],
  load: async () => import('../copy/copy.ts'),
})

export const sandbox: Group = {
  name: 'sandbox',
  summary: 'Virtual machines that run commands',
  commands: [
    command({
      name: 'ls',
      summary: 'List sandboxes, newest first',
      options: [
        {
          flags: '--status <state>',
          about: 'only sandboxes in this state',
          parse: oneOf('--status', STATES),
          words: STATES,
        },
        { flags: '--template <name>', about: 'only sandboxes of this template', names: 'template' },
        {
          flags: '-m, --metadata <key=value>',
          about: 'only sandboxes with this tag (several)',
          parse: keyValues('--metadata'),
        },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['sandbox ls', 'sandbox ls --status running -q'],
      load: async () => import('./ls.ts'),
    }),
    command({
      name: 'create',
      summary: 'Create a sandbox, and print its id',
      operands: [{ form: '[name]', about: 'a name for it, kept as the tag "name"' }],
      options: [
        { flags: '-t, --template <name>', about: 'default: base', names: 'template' },
        { flags: '--from-snapshot <snapshot>', about: 'begin at the state of a snapshot', names: 'snapshot' },
        ...lifetime,
        { flags: '-e, --env <key=value>', about: 'variable of every command (several)', parse: keyValues('--env') },
        { flags: '-m, --metadata <key=value>', about: 'tag (several)', parse: keyValues('--metadata') },
        {
          flags: '-v, --volume <name[:ro]>',
          about: 'attach a volume, or read it only (several)',
          parse: several,
          names: 'volume',
        },
        {
          flags: '--egress <what>',
          about: 'internet or none; default: internet',
          parse: oneOf('--egress', ['internet', 'none']),
          words: ['internet', 'none'],
        },
        visibility,
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['sandbox create web', 'sandbox create --template minimal --ttl 15m'],
      load: async () => import('./create.ts'),
    }),
    command({
      name: 'set',
      summary: 'Change how long a sandbox lives, from now on, or who may open its ports',
      operands: [SANDBOX],
      options: [...lifetime, { flags: '--no-persistent', about: 'give it a time to live again' }, visibility],
      hasJson: true,
      hasQuiet: true,
      examples: ['sandbox set web --ttl 2h', 'sandbox set web --visibility private'],
      load: async () => import('./set.ts'),
    }),
    command({
      name: 'rm',
      summary: 'Delete sandboxes',
      operands: [{ ...SANDBOX, form: '<sandbox...>' }],
      hasQuiet: true,
      examples: ['sandbox rm web'],
      load: async () => import('./rm.ts'),
    }),
    command({
      name: 'exec',
      summary: 'Run a command in a sandbox, and end with its exit code',
      operands: [
        SANDBOX,
        { form: '<command...>', about: 'one word runs under sh -c; several are a program and its arguments' },
      ],
      options: [
        { flags: '-u, --user <name>', about: 'user of the sandbox; default: root' },
        { flags: '-C, --cwd <path>', about: 'folder to run in; default: the home of the user' },
        { flags: '-e, --env <key=value>', about: 'variable (several)', parse: keyValues('--env') },
        { flags: '-i, --stdin', about: 'pass on the standard input' },
        { flags: '--timeout <duration>', about: 'kill it after this time', parse: duration('--timeout') },
        { flags: '-d, --detach', about: 'leave it running, and print its id' },
      ],
      passesOptions: true,
      hasJson: true,
      examples: [
        "sandbox exec web 'uname -a | cut -c1-5'",
        'sandbox exec web ls -l /etc',
        'sandbox exec -i web cat < notes.txt',
      ],
      load: async () => import('./exec.ts'),
    }),
    shell,
    cp,
    command({
      name: 'logs',
      summary: 'Show what a sandbox wrote: its console and the output of its commands',
      operands: [SANDBOX],
      options: [
        { flags: '-f, --follow', about: 'wait for more; reconnects without gaps' },
        { flags: '-n, --tail <lines>', about: 'only the last lines', parse: integer('--tail', 0, 1_000_000) },
        {
          flags: '--stream <name>',
          about: 'stdout or stderr; default: both',
          parse: oneOf('--stream', ['stdout', 'stderr', 'both']),
          words: ['stdout', 'stderr', 'both'],
        },
        { flags: '-t, --timestamps', about: 'begin each line with its time' },
      ],
      hasJson: true,
      examples: ['sandbox logs web', 'sandbox logs -f --tail 10 web'],
      load: async () => import('./logs.ts'),
    }),
    command({
      name: 'events',
      summary: 'Show what happened to a sandbox',
      operands: [SANDBOX],
      options: [
        { flags: '-f, --follow', about: 'wait for more; reconnects without gaps' },
        { flags: '-n, --tail <count>', about: 'only the last events', parse: integer('--tail', 0, 1_000_000) },
        { flags: '--since <position>', about: 'only events after this number or RFC 3339 time' },
      ],
      hasJson: true,
      examples: ['sandbox events web', 'sandbox events -f web'],
      load: async () => import('./events.ts'),
    }),
    command({
      name: 'port',
      summary: 'List the ports of a sandbox with their addresses, or show one',
      operands: [SANDBOX, { form: '[port]', about: 'print the address of this port' }],
      options: [
        { flags: '--label <name>', about: 'name the port' },
        { flags: '--rm', about: 'remove the name of the port' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['sandbox port web', 'sandbox port web 3000'],
      load: async () => import('./port.ts'),
    }),
    command({
      name: 'link',
      summary: 'Make a link that opens a port of a private sandbox, and print its address',
      operands: [SANDBOX, PORT],
      options: LINK_OPTIONS,
      hasJson: true,
      examples: ['sandbox link web 3000', 'sandbox link web 3000 --expires 2h --label review'],
      load: async () => import('./link.ts'),
    }),
    command({
      name: 'links',
      summary: 'List the links that open a port of a private sandbox, or revoke one',
      operands: [SANDBOX, PORT],
      options: LINKS_OPTIONS,
      hasJson: true,
      hasQuiet: true,
      examples: ['sandbox links web 3000', 'sandbox links web 3000 --rm review'],
      load: async () => import('./links.ts'),
    }),
    ...moves,
    command({
      name: 'snapshot',
      summary: 'Keep the memory and disk of a sandbox, and print the id of the snapshot',
      operands: [SANDBOX, { form: '[name]', about: 'a name for the snapshot' }],
      hasJson: true,
      hasQuiet: true,
      examples: ['sandbox snapshot web before-upgrade'],
      load: async () => import('./snapshot.ts'),
    }),
    command({
      name: 'fork',
      summary: 'Copy a sandbox with all that runs in it, and print the ids of the copies',
      operands: [SANDBOX],
      options: [
        { flags: '-n, --count <number>', about: 'copies, 1 to 16; default: 1', parse: integer('--count', 1, 16) },
        { flags: '--name <name>', about: 'a name for the copies: NAME, or NAME-0, NAME-1, …' },
        {
          flags: '-m, --metadata <key=value>',
          about: 'tags in place of those of the parent (several)',
          parse: keyValues('--metadata'),
        },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['sandbox fork web', 'sandbox fork --count 4 web'],
      load: async () => import('./fork.ts'),
    }),
    command({
      name: 'tree',
      summary: 'Show which sandbox came of which; for one sandbox, also its snapshots and deleted ancestors',
      operands: [{ ...SANDBOX, form: '[sandbox]' }],
      hasJson: true,
      examples: ['sandbox tree', 'sandbox tree web'],
      load: async () => import('./tree.ts'),
    }),
    command({
      name: 'promote',
      summary: 'Keep one copy of a fork with --count, and delete the others',
      operands: [SANDBOX],
      options: [{ flags: '--keep-siblings', about: 'delete no other copy' }],
      hasJson: true,
      examples: ['sandbox promote web-2'],
      load: async () => import('./promote.ts'),
    }),
    command({
      name: 'top',
      summary: 'Show what sandboxes use: CPU, memory, disk, network',
      operands: [{ ...SANDBOX, form: '[sandbox...]' }],
      options: [
        {
          flags: '--interval <seconds>',
          about: 'seconds from one look to the next; default: 2',
          parse: integer('--interval', 1, 3600),
        },
        { flags: '--once', about: 'look once, even on a terminal' },
      ],
      hasJson: true,
      examples: ['sandbox top', 'sandbox top --once web'],
      load: async () => import('./top.ts'),
    }),
  ],
}
