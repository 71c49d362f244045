import { readFile } from 'node:fs/promises'
import { arch, release } from 'node:os'
import { missingDebianPackages } from '../host/debian-packages.ts'
import { rootlessLacks } from '../rootless/requirements.ts'
import { type Finding, ok, problem, type Subject, warning } from './finding.ts'
import { runQuietly } from './run-quietly.ts'

/** `clone3` starts a VM in its cgroup since 5.7; `cgroup.kill` exists since 5.14. */
const KERNEL = { needed: [5, 10], wanted: [5, 14] } as const
const NODE_MAJOR = 20
const NPM_MAJOR = 9

export async function checkSystem(): Promise<Finding> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const name = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(text)?.[1] ?? process.platform
  const found = `${name}, Linux ${release()}, ${arch()}`
  if (process.platform !== 'linux') return problem('system', `this is ${process.platform}`, 'Use a Linux machine')
  if (!['x64', 'arm64'].includes(process.arch))
    return problem('system', found, 'Use a machine with an x86_64 or aarch64 CPU')
  if (isOlder(release(), KERNEL.needed))
    return problem('system', `${found}: the kernel is too old`, 'Install Linux 5.10 or newer')
  if (isOlder(release(), KERNEL.wanted)) return warning('system', found, 'Linux 5.14 or newer ends VMs more reliably')
  return ok('system', found)
}

/** @param version such as `6.1.0-18-amd64` */
export function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const [own = 0, ownMinor = 0] = version.split(/[.-]/).map(Number)
  return own < major || (own === major && ownMinor < minor)
}

export async function checkNode({ stop, isInstalled }: Subject): Promise<Finding> {
  const npm = await runQuietly(['npm', '--version'], stop)
  const problemOrWarning = isInstalled ? warning : problem
  const remedy = `Install Node.js ${NODE_MAJOR} or newer with npm: apt-get install -y nodejs npm`
  if (npm instanceof Error) return problemOrWarning('node', 'npm is not in PATH', remedy)
  const found = `Node.js ${process.versions.node}, npm ${npm.trim()}`
  if (isOlder(process.versions.node, [NODE_MAJOR, 0]) || isOlder(npm, [NPM_MAJOR, 0]))
    return problemOrWarning('node', `${found}: too old`, remedy)
  return ok('node', found)
}

export async function checkPackages({ stop, isRoot, args }: Subject): Promise<Finding> {
  const missing = await missingDebianPackages(stop).catch((error: Error) => error)
  if (missing instanceof Error) return problem('packages', 'this is no Debian system: dpkg-query does not work', null)
  if (missing.length === 0) return ok('packages', 'all Debian packages are installed')
  const finding = `Debian packages are missing: ${missing.join(' ')}`
  if (isRoot) return warning('packages', finding, 'The next start installs them')
  const remedy = `sudo apt-get install -y --no-install-recommends ${missing.join(' ')}`
  return args.isYes ? warning('packages', finding, remedy) : problem('packages', finding, remedy)
}

/** Without root, also what the host lacks for that (docs/rootless.md). */
export async function checkUser({ isRoot, stop }: Subject): Promise<readonly Finding[]> {
  if (isRoot) return [ok('user', 'root: each VM gets a jail of its own')]
  const lacks = await rootlessLacks(stop)
  const user = warning(
    'user',
    `user id ${process.getuid?.()}: VMs are isolated less than under root`,
    'Run it as root for code of people whom you do not trust',
  )
  return [user, ...lacks.map(({ what, remedy }) => problem('rootless', what, `As root: ${remedy}`))]
}
