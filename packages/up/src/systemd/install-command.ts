import { resolve } from 'node:path'
import { parseArguments } from '../base/arguments.ts'
import { defaultDataDir } from '../base/product.ts'
import { repositoryRoot } from '../base/repository.ts'
import { type Invocation, parseCommandLine } from '../base/subcommand.ts'
import { UsageError } from '../base/usage-error.ts'
import { isRootless } from '../rootless/requirements.ts'
import { installUnit, unitPath } from './installation.ts'
import { serviceCommand, UNIT_NAME, unitText } from './unit.ts'

const PORTS = ['--port', '--edge-port', '--database-port', '--e2b-port', '--ssh-port'] as const
const STRING = { type: 'string' } as const
const OPTIONS = {
  'images-dir': STRING,
  accelerator: STRING,
  port: STRING,
  'edge-port': STRING,
  'database-port': STRING,
  'e2b-port': STRING,
  'ssh-port': STRING,
  root: STRING,
  print: { type: 'boolean' },
} as const
/** Secrets and settings of this command are no settings of the service. */
const NOT_OF_SERVICE = /^OFFSHOOT_(BACKUP_|API_KEY$|OPERATOR_KEY$|BASE_URL$)/

export async function run(invocation: Invocation, stop: AbortSignal): Promise<void> {
  const { env, cwd, product } = invocation
  const line = parseCommandLine(invocation, OPTIONS, [], help(product))
  if (line === null) return
  const { print, root, ...given } = line.options
  const flags = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]))
  const args = parseArguments(flags, env, cwd, defaultDataDir(product, env))
  const ports = Object.fromEntries(PORTS.flatMap((flag) => portOf(flag, given[flag.slice(2) as keyof typeof given])))
  const text = unitText({
    command: serviceCommand(`${repositoryRoot}/bin/up`, args, ports),
    variables: variablesOf(env),
    isRootless: isRootless(),
  })
  if (print === true) {
    process.stdout.write(text)
    return
  }
  const target = { root: root === undefined ? null : resolve(cwd, root), isRootless: isRootless(), env, stop }
  const hasChanged = await installUnit(target, text)
  const next = `systemctl ${isRootless() ? '--user ' : ''}${hasChanged ? 're' : ''}start ${UNIT_NAME}`
  process.stdout.write(
    `${unitPath(target)} ${hasChanged ? 'is installed' : 'is unchanged'}. It starts at the next boot, or now: ${next}\n`,
  )
}

function portOf(flag: string, value: string | undefined): [string, string][] {
  if (value === '0') throw new UsageError(`${flag} must not be 0: the port of a service stays the same`)
  return value === undefined ? [] : [[flag, value]]
}

function variablesOf(env: Readonly<NodeJS.ProcessEnv>): Record<string, string> {
  const own = Object.entries(env).filter(([name]) => name.startsWith('OFFSHOOT_') && !NOT_OF_SERVICE.test(name))
  return Object.fromEntries(
    own.flatMap(([name, value]) => (value ? [[name, value]] : [])).toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  ) as Record<string, string>
}

function help({ subcommands, dataDirText }: Invocation['product']): string {
  return `Usage: ${subcommands} install [--print] [--root DIR] [options of up]

Writes ${UNIT_NAME} for systemd, so that the service starts at every boot and again after a failure. It runs with these
options and with the OFFSHOOT_ variables that are set now. Repeat it after an upgrade. A user other than root gets a unit
of the user's own manager; "loginctl enable-linger" has it start at boot.

  --print         print the unit and change nothing
  --root DIR      write it into the file system of another machine at DIR
  --data-dir DIR  where all state is kept (default ${dataDirText})
  --images-dir, --accelerator, --port, --edge-port, --database-port, --e2b-port, --ssh-port   as for up
`
}
