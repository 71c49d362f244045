import { command, type Group, type Operand, type Option, YES } from '../frame/command.ts'
import { LINK_OPTIONS, LINKS_OPTIONS } from '../frame/link-options.ts'
import { duration, integer, keyValues, oneOf, parsePort } from '../frame/values.ts'

const APP: Operand = { form: '<app>', about: 'name, id, or the beginning of an id', names: 'app' }
const DEPLOYMENT: Operand = { form: '[deployment]', about: 'id of a deployment, or its beginning' }
const FRAMEWORKS = ['nextjs', 'vite', 'node', 'static', 'python']
const STATES = ['created', 'building', 'running', 'hibernated', 'error']
const VISIBILITIES = ['public', 'private']

const FOLLOW: Option = { flags: '-f, --follow', about: 'wait for more; reconnects without gaps' }
const DETACH: Option = { flags: '-d, --detach', about: 'print the id of the deployment, and do not wait' }

/** Settings of an app, which can be changed later. */
const settings: readonly Option[] = [
  { flags: '-b, --branch <name>', about: 'branch to deploy; default: main' },
  {
    flags: '--framework <name>',
    about: `${FRAMEWORKS.join(', ')}; default: detected`,
    parse: oneOf('--framework', FRAMEWORKS),
    words: FRAMEWORKS,
  },
  { flags: '--root <folder>', about: 'folder of the repository that holds the app' },
  { flags: '--install <command>', about: 'instead of the command of the framework' },
  { flags: '--build <command>', about: 'instead of the command of the framework' },
  { flags: '--start <command>', about: 'instead of the command of the framework' },
  { flags: '--port <port>', about: 'that the app listens on; default: 3000', parse: parsePort },
  { flags: '--max-instances <count>', about: 'default: 1', parse: integer('--max-instances', 1, 16) },
  {
    flags: '--idle-timeout <duration>',
    about: 'time without a request before it hibernates; default: 10m',
    parse: duration('--idle-timeout'),
  },
  {
    flags: '--visibility <who>',
    about: 'public or private; default: public',
    parse: oneOf('--visibility', VISIBILITIES),
    words: VISIBILITIES,
  },
  { flags: '--auto-deploy', about: 'deploy each push to the branch' },
  { flags: '--no-auto-deploy', about: 'deploy only when asked' },
  { flags: '--previews', about: 'deploy each pull request at its own address' },
  { flags: '--no-previews', about: 'deploy no pull requests' },
]

export const app: Group = {
  name: 'app',
  summary: 'Git repositories that are served at an address',
  commands: [
    command({
      name: 'ls',
      summary: 'List apps, newest first',
      options: [
        {
          flags: '--status <state>',
          about: 'only apps in this state',
          parse: oneOf('--status', STATES),
          words: STATES,
        },
        { flags: '--previews-of <app>', about: 'the previews of the pull requests of an app', names: 'app' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['app ls', 'app ls --status running'],
      load: async () => import('./ls.ts'),
    }),
    command({
      name: 'create',
      summary: 'Create an app of a git repository, and print its id',
      operands: [
        { form: '<name>', about: 'a name, which is part of its address' },
        { form: '<repository>', about: 'http or https address of the git repository' },
      ],
      options: [
        ...settings,
        {
          flags: '-e, --env <key=value>',
          about: 'variable of builds and of the app (several)',
          parse: keyValues('--env'),
        },
        { flags: '--env-file <file>', about: 'file of lines KEY=VALUE, for secrets; -: the input' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['app create site https://git.example.com/you/site.git', 'app create site https://… --env-file .env'],
      load: async () => import('./create.ts'),
    }),
    command({
      name: 'show',
      summary: 'Show one app',
      operands: [APP],
      hasJson: true,
      hasQuiet: true,
      examples: ['app show site'],
      load: async () => import('./show.ts'),
    }),
    command({
      name: 'set',
      summary: 'Change the settings of an app, for its next deploy',
      operands: [APP],
      options: settings,
      hasJson: true,
      hasQuiet: true,
      examples: ['app set site --branch next', 'app set site --max-instances 4'],
      load: async () => import('./set.ts'),
    }),
    command({
      name: 'env',
      summary: 'List the names of the variables of an app, or replace them all',
      operands: [APP],
      options: [{ flags: '--replace <file>', about: 'file of lines KEY=VALUE with all variables; -: the input' }],
      hasJson: true,
      examples: ['app env site', 'app env site --replace .env', 'app env site --replace - < .env'],
      load: async () => import('./env.ts'),
    }),
    command({
      name: 'deploy',
      summary: 'Deploy an app, show the log of the build, and fail if it fails',
      operands: [APP, { form: '[ref]', about: 'a branch, a tag or a commit; default: the branch of the app' }],
      options: [DETACH],
      hasJson: true,
      hasQuiet: true,
      examples: ['app deploy site', 'app deploy site v1.2'],
      load: async () => import('./deploy.ts'),
    }),
    command({
      name: 'rollback',
      summary: 'Bring back the version before, or one that was live',
      operands: [APP, DEPLOYMENT],
      options: [DETACH],
      hasJson: true,
      hasQuiet: true,
      examples: ['app rollback site', 'app rollback site 1f2e3d4c'],
      load: async () => import('./rollback.ts'),
    }),
    command({
      name: 'deployments',
      summary: 'List the deployments of an app, newest first',
      operands: [APP],
      hasJson: true,
      hasQuiet: true,
      examples: ['app deployments site'],
      load: async () => import('./deployments.ts'),
    }),
    command({
      name: 'cancel',
      summary: 'Cancel a deployment that is under way',
      operands: [APP, DEPLOYMENT],
      hasJson: true,
      hasQuiet: true,
      examples: ['app cancel site'],
      load: async () => import('./cancel.ts'),
    }),
    command({
      name: 'build-logs',
      summary: 'Show the log of a build',
      operands: [APP, { ...DEPLOYMENT, about: 'default: the newest' }],
      options: [FOLLOW],
      examples: ['app build-logs site', 'app build-logs -f site'],
      load: async () => import('./build-logs.ts'),
    }),
    command({
      name: 'logs',
      summary: 'Show what the version that serves has written',
      operands: [APP],
      options: [{ ...FOLLOW, about: 'wait for more, also of later versions; reconnects without gaps' }],
      examples: ['app logs site', 'app logs -f site'],
      load: async () => import('./logs.ts'),
    }),
    command({
      name: 'domains',
      summary: 'List the domains of an app with the DNS records to set, add one, or remove one',
      operands: [APP],
      options: [
        { flags: '--add <domain>', about: 'add it, or look for its DNS record again' },
        { flags: '--certificate <file>', about: 'with --add: its own certificate with the intermediates, PEM' },
        { flags: '--private-key <file>', about: 'with --certificate: the key, PEM' },
        { flags: '--rm <domain>', about: 'remove it' },
      ],
      hasJson: true,
      hasQuiet: true,
      examples: ['app domains site', 'app domains site --add www.example.com'],
      load: async () => import('./domains.ts'),
    }),
    command({
      name: 'link',
      summary: 'Make a link that opens a private app, and print its address',
      operands: [APP],
      options: LINK_OPTIONS,
      hasJson: true,
      examples: ['app link site', 'app link site --expires 2h --label review'],
      load: async () => import('./link.ts'),
    }),
    command({
      name: 'links',
      summary: 'List the links that open a private app, or revoke one',
      operands: [APP],
      options: LINKS_OPTIONS,
      hasJson: true,
      hasQuiet: true,
      examples: ['app links site', 'app links site --rm review'],
      load: async () => import('./links.ts'),
    }),
    command({
      name: 'open',
      summary: 'Open an app in the browser, and print its address',
      operands: [APP],
      examples: ['app open site'],
      load: async () => import('./open.ts'),
    }),
    command({
      name: 'rm',
      summary: 'Delete apps with all that runs for them',
      operands: [{ ...APP, form: '<app...>' }],
      options: [YES],
      hasQuiet: true,
      examples: ['app rm site --yes'],
      load: async () => import('./rm.ts'),
    }),
  ],
}
