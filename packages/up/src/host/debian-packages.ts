import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { hasProgram } from '../base/has-program.ts'
import { runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { isRootless, type Lack, ROOTLESS_PACKAGES, rootlessLacks } from '../rootless/requirements.ts'

/** Debian packages that Offshoot needs on every host, besides QEMU. */
export const HOST_PACKAGES = [
  'qemu-utils',
  'e2fsprogs',
  'mmdebstrap',
  'nftables',
  'iproute2',
  'conntrack',
  'gcc',
  'libc6-dev',
  'make',
] as const

/** Debian packages of QEMU, by the architecture of the host (`process.arch`). */
export const QEMU_PACKAGES = { x64: 'qemu-system-x86', arm64: 'qemu-system-arm' } as const

function neededPackages(): readonly string[] {
  const qemu = QEMU_PACKAGES[process.arch === 'arm64' ? 'arm64' : 'x64']
  return [qemu, ...HOST_PACKAGES, ...(isRootless() ? ROOTLESS_PACKAGES : [])]
}

/**
 * Checks everything that an administrator has to do once, and installs missing packages if that is allowed.
 * @throws {SetupFailure} names everything that is missing, and the commands, if Offshoot may not or cannot install it
 */
export async function ensureHostReady(
  isYes: boolean,
  cancelled: AbortSignal,
  needed = neededPackages(),
): Promise<void> {
  const [missing, lacks] = await Promise.all([missingDebianPackages(cancelled, needed), rootlessLacks(cancelled)])
  if (lacks.length === 0) {
    if (missing.length === 0) return
    if (await isInstallAllowed(missing.join(' '), isYes, cancelled)) return install(missing, cancelled)
  }
  throw new SetupFailure(explainLacks(missing, lacks))
}

/** @returns the needed Debian packages that are not installed @throws {SetupFailure} on a host other than Debian */
export async function missingDebianPackages(
  cancelled?: AbortSignal,
  needed = neededPackages(),
): Promise<readonly string[]> {
  return missingPackages(await installedStates(cancelled), needed)
}

/** One sentence with everything that is missing and the commands for it. */
export function explainLacks(missing: readonly string[], lacks: readonly Lack[]): string {
  const packages = `these Debian packages are not installed: ${missing.join(' ')}`
  const all = [
    ...lacks,
    ...(missing.length === 0 ? [] : [{ what: packages, remedy: `apt-get install -y ${missing.join(' ')}` }]),
  ]
  const what = all.map((lack) => lack.what).join('; ')
  const commands = all.map(({ remedy }) => remedy).join(' && ')
  return `Offshoot cannot start, because ${what}. As root, run once: ${commands}`
}

async function installedStates(cancelled?: AbortSignal): Promise<string> {
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
  if (!isRootless()) return true
  if (!(await hasProgram('sudo'))) return false
  if (isYes) return true
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
  const asRoot = isRootless() ? ['sudo'] : []
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
