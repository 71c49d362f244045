import { type Command, command } from '../frame/command.ts'
import { integer, several } from '../frame/values.ts'

const SHELLS = ['bash', 'zsh', 'fish']

/** Commands about a whole workspace, and about the program itself. */
export const server: readonly Command[] = [
  ...[
    ['up', 'Start Offshoot on this machine; up --help lists the options'] as const,
    ['doctor', 'Diagnose this machine: what Offshoot needs, and what to do about it'] as const,
    ['backup', 'Write everything that is needed after losing this machine into an encrypted file'] as const,
    ['restore', 'Make a data directory from such a file'] as const,
    ['support-bundle', 'Write what helps to find a fault of the service, without secrets'] as const,
    ['install', 'Have systemd start the service at every boot'] as const,
    ['uninstall', 'Remove what install wrote, and no data'] as const,
    ['upgrade', 'Have the running service change to this version, or back if it is not healthy'] as const,
    ['rollback', 'Have the running service go back to the version before the last upgrade'] as const,
  ].map(([name, summary]) =>
    command({ name, summary, examples: [name], load: async () => import('./started-elsewhere.ts') }),
  ),
  command({
    name: 'events',
    summary: 'Show what happened in the workspace: sandboxes, builds, deployments, databases',
    options: [
      { flags: '-f, --follow', about: 'wait for more; reconnects without gaps' },
      { flags: '-n, --tail <count>', about: 'the last events; default: 100', parse: integer('--tail', 0, 1000) },
      { flags: '--since <position>', about: 'only events after this id or RFC 3339 time' },
      { flags: '--type <type>', about: 'only events of this type, as in sandbox.woken (several)', parse: several },
      { flags: '--sandbox <sandbox>', about: 'only events of this sandbox', names: 'sandbox' },
    ],
    hasJson: true,
    examples: ['events', 'events -f', 'events --type build.failed --since 2030-01-01T00:00:00Z'],
    load: async () => import('./events.ts'),
  }),
  command({
    name: 'completion',
    summary: 'Print the completion for a shell',
    operands: [{ form: '<shell>', about: 'bash, zsh or fish', words: SHELLS }],
    examples: ['completion bash > ~/.local/share/bash-completion/completions/offshoot'],
    load: async () => import('../completion/scripts.ts'),
  }),
  command({
    name: 'mcp',
    summary: 'Serve the tools of the workspace to an AI agent, by the Model Context Protocol on stdin and stdout',
    examples: ['mcp'],
    load: async () => import('../mcp/bridge.ts'),
  }),
]
