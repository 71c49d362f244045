import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'

/** Debian packages of the programs that Offshoot runs on the host. */
function neededPackages(): readonly string[] {
  const qemu = process.arch === 'arm64' ? 'qemu-system-arm' : 'qemu-system-x86'
  return [
    qemu,
    'qemu-utils',
    'e2fsprogs',
    'mmdebstrap',
    'nftables',
    'iproute2',
    'conntrack',
    'gcc',
    'libc6-dev',
    'make',
  ]
}

/** @throws {SetupFailure} if packages are missing and cannot be installed, or the user refuses */
export async function ensureDebianPackages(
  isYes: boolean,
  cancelled: AbortSignal,
  needed = neededPackages(),
): Promise<void> {
  const missing = missingPackages(await installedStates(cancelled), needed)
  if (missing.length === 0) return
  const list = missing.join(' ')
  if (!(await isInstallAllowed(list, isYes, cancelled)))
    throw new SetupFailure(`Offshoot needs these Debian packages, which are not installed: ${list}.`)
  await install(missing, cancelled)
}

async function installedStates(cancelled: AbortSignal): Promise<string> {
  const deadline = Deadline.after(20_000, 'asking for installed packages', cancelled)
  try {
    return await runCommand('dpkg-query', ['-W', '-f=${Package} ${db:Status-Status}\\n'], { deadline })
  } catch (error) {
    deadline.throwIfOver()
    throw new SetupFailure('Offshoot needs a Debian host: dpkg-query does not work here.', { cause: error })
  }
}

/** @param states lines of package name and state, from dpkg-query */
export function missingPackages(states: string, needed: readonly string[]): readonly string[] {
  const lines = new Set(states.split('\n'))
  return needed.filter((name) => !lines.has(`${name} installed`))
}

async function isInstallAllowed(list: string, isYes: boolean, cancelled: AbortSignal): Promise<boolean> {
  if (isYes || process.getuid?.() === 0) return true
  if (!process.stdin.isTTY) return false
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = await terminal.question(`Install these Debian packages with sudo: ${list}? [Y/n] `, {
      signal: cancelled,
    })
    return /^(y|yes|)$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}

async function install(packages: readonly string[], cancelled: AbortSignal): Promise<void> {
  const names = packages.join(' ')
  process.stdout.write(`Installing Debian packages: ${names}\n`)
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo']
  await apt([...asRoot, 'apt-get', 'update', '--quiet'], names, cancelled)
  await apt(
    [...asRoot, 'apt-get', 'install', '--quiet', '-y', '--no-install-recommends', ...packages],
    names,
    cancelled,
  )
}

/** Inherits the user's terminal: sudo may ask for a password, and apt shows its progress. */
async function apt(command: readonly string[], names: string, cancelled: AbortSignal): Promise<void> {
  const [file = '', ...args] = command
  const child = spawn(file, args, {
    stdio: ['inherit', 'inherit', 'ignore'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    signal: cancelled,
  })
  const code = await once(child, 'exit').then(
    ([code]: (number | null)[]) => code,
    () => null,
  )
  cancelled.throwIfAborted()
  if (code !== 0)
    throw new SetupFailure(`These Debian packages could not be installed (${command.join(' ')}): ${names}.`)
}
