import type { UpArguments } from '../base/arguments.ts'

export const UNIT_NAME = 'offshoot.service'
/** The first line of a unit that we may replace and remove. */
export const UNIT_MARK =
  '# Written by offshoot install, which replaces it. Changes belong into a drop-in: systemctl edit offshoot'

/**
 * Capabilities that neither the services nor programs that they start need. Guests do not see any of them: each VM has a
 * jail of its own.
 */
const DROPPED_CAPABILITIES = [
  'CAP_AUDIT_CONTROL',
  'CAP_AUDIT_READ',
  'CAP_MAC_ADMIN',
  'CAP_MAC_OVERRIDE',
  'CAP_SYSLOG',
  'CAP_SYS_BOOT',
  'CAP_SYS_MODULE',
  'CAP_SYS_PACCT',
  'CAP_SYS_TIME',
  'CAP_SYS_TTY_CONFIG',
  'CAP_WAKE_ALARM',
]

export interface UnitInputs {
  /** Absolute path of `bin/up` and its arguments. */
  readonly command: readonly string[]
  /** Variables of the service. */
  readonly variables: Readonly<Record<string, string>>
  /** Whether the service belongs to a user and not to the machine. */
  readonly isRootless: boolean
}

/**
 * The unit of the supervisor. Only the supervisor gets the signal of a stop (`KillMode=process`): it ends the services,
 * and VMs go on, also over a restart. Options that give the service a file system of its own are missing, because the
 * jails of VMs that outlive a restart would belong to the earlier one.
 */
export function unitText({ command, variables, isRootless }: UnitInputs): string {
  const lines = [
    UNIT_MARK,
    '[Unit]',
    'Description=Offshoot, microVM sandboxes',
    // A user's manager has no targets of the network.
    ...(isRootless ? [] : ['Wants=network-online.target', 'After=network-online.target time-sync.target']),
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${command.map(quoted).join(' ')}`,
    ...Object.entries(variables).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`),
    'WorkingDirectory=/',
    'Restart=on-failure',
    'RestartSec=5',
    'KillMode=process',
    'TimeoutStopSec=90',
    'OOMPolicy=continue',
    'LimitNOFILE=1048576',
    'TasksMax=infinity',
    ...(isRootless ? [] : hardening()),
    '',
    '[Install]',
    `WantedBy=${isRootless ? 'default.target' : 'multi-user.target'}`,
  ]
  return `${lines.join('\n')}\n`
}

function hardening(): string[] {
  return [
    'UMask=0022',
    'NoNewPrivileges=yes',
    `CapabilityBoundingSet=~${DROPPED_CAPABILITIES.join(' ')}`,
    'LockPersonality=yes',
    'RestrictRealtime=yes',
    'SystemCallArchitectures=native',
    'KeyringMode=private',
  ]
}

/** The command line of `bin/up` that a unit runs, with absolute paths. It installs packages without asking. */
export function serviceCommand(program: string, args: UpArguments, ports: Readonly<Record<string, string>>): string[] {
  const folders = ['--data-dir', args.dataDir, '--images-dir', args.imagesDir]
  return [program, ...folders, ...Object.entries(ports).flat(), '--accelerator', args.accelerator, '--yes']
}

/** systemd.syntax(7): quotes, and `%` and `$` stand for themselves. */
export function quoted(word: string): string {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$')
  if (/^[\w@:,./=+%$-]+$/.test(plain)) return plain
  return `"${plain
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)}"`
}
