import { DeployFailure } from './deploy-failure.ts'
import { LOCK_FILES, type ManagerName, type PackageJson, type Project } from './read-project.ts'

/** The program that installs an app's dependencies. */
export interface PackageManager {
  readonly name: ManagerName
  /** Exact; `null`: the npm of the image. */
  readonly version: string | null
  /** Its lock file in the install folder; `null`: there is none. */
  readonly lock: string | null
}

/**
 * Every version that control chooses by itself. Exact, so that a release never changes what a commit installs.
 * npm is missing: the one in the image reads every format of its lock file.
 */
const PINNED = {
  // The last release of yarn 1, the only major that takes --frozen-lockfile without a warning.
  yarn1: '1.22.22',
  // Keys: `version` of `__metadata`. `--immutable` refuses to migrate a lock file, so each format needs a release that writes it.
  berry: { '4': '2.4.2', '5': '3.1.1', '6': '3.8.7', '8': '4.9.4' },
  // Keys: `lockfileVersion`. pnpm 9 and 10 both write 9.0; 10 also reads the settings in pnpm-workspace.yaml, which 9 rejects.
  pnpmLock: { '5.3': '6.35.1', '5.4': '7.33.7', '6.0': '8.15.9', '6.1': '8.15.9', '9.0': '10.34.9' },
  // bun reads bun.lock since 1.2, and bun.lockb in all releases.
  bun: '1.4.5',
  // Keys: the major that `engines` names.
  engines: {
    yarn: { '1': '1.22.22', '2': '2.4.2', '3': '3.8.7', '4': '4.9.4' },
    pnpm: { '6': '6.35.1', '7': '7.33.7', '8': '8.15.9', '9': '9.15.9', '10': '10.34.9' },
    bun: { '1': '1.4.5' },
  },
} as const

const NAMES = Object.keys(LOCK_FILES) as ManagerName[]

type Described = Pick<Project, 'packageJson' | 'install'>

/** `packageManager` wins, then the lock file, then `engines`, then the npm of the image. @throws DeployFailure */
export function packageManagerOf({ packageJson, install }: Described): PackageManager {
  const named = packageJson?.packageManager ?? install.packageJson?.packageManager
  const locks = NAMES.flatMap((name) => LOCK_FILES[name].find((file) => install.entries.has(file)) ?? [])
  const lockOf = (name: ManagerName) => locks.find((lock) => LOCK_FILES[name].includes(lock)) ?? null
  if (named !== undefined) {
    const { name, version } = parseNamed(named)
    return { name, version, lock: lockOf(name) }
  }
  const wished = fromEngines(packageJson) ?? fromEngines(install.packageJson)
  if (locks.length === 0) return { name: 'npm', version: null, ...wished, lock: null }
  const names = NAMES.filter((name) => lockOf(name) !== null)
  const name = names.find((each) => each === wished?.name) ?? names[0] ?? 'npm'
  const lock = lockOf(name)
  return { name, version: versionOfLock(name, install.heads), lock }
}

const NAMED = /^(npm|yarn|pnpm|bun)@(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)(?:\+[0-9A-Za-z.-]+)?$/

/** As corepack writes it: an exact version, and perhaps a hash, which nothing here checks. */
function parseNamed(named: unknown): { name: ManagerName; version: string } {
  const [, name, version] = (typeof named === 'string' && NAMED.exec(named)) || []
  if (name === undefined || version === undefined)
    throw new DeployFailure(
      `package.json: packageManager must be npm, yarn, pnpm or bun with an exact version, like pnpm@${PINNED.pnpmLock['9.0']}`,
    )
  return { name: name as ManagerName, version }
}

function versionOfLock(name: ManagerName, heads: ReadonlyMap<string, string>): string | null {
  if (name === 'npm') return null
  if (name === 'bun') return PINNED.bun
  if (name === 'yarn') {
    const head = heads.get('yarn.lock') ?? ''
    if (/^# yarn lockfile v1\r?$/m.test(head)) return PINNED.yarn1
    return pinned('yarn.lock', PINNED.berry, /^__metadata:\r?\n(?:[ \t]+.*\n)*?[ \t]+version: *["']?(\d+)/m.exec(head))
  }
  const found = /^lockfileVersion: *["']?(\d+(?:\.\d+)?)["']? *\r?$/m.exec(heads.get('pnpm-lock.yaml') ?? '')
  return pinned('pnpm-lock.yaml', PINNED.pnpmLock, found)
}

function pinned(file: string, table: Readonly<Record<string, string>>, found: RegExpExecArray | null): string {
  const format = found?.[1]
  if (format === undefined) throw new DeployFailure(`${file}: its format could not be read`)
  const version = Object.hasOwn(table, format) ? table[format] : undefined
  if (version === undefined)
    throw new DeployFailure(`${file}: format ${format} is not known: set packageManager in package.json`)
  return version
}

/** The first major of a range that has a pinned version. Other values are ignored: people write "please-use-yarn" there. */
function fromEngines(packageJson: PackageJson | null): { name: ManagerName; version: string | null } | null {
  const engines = packageJson?.engines ?? {}
  for (const name of NAMES) {
    const range = engines[name]
    const major = typeof range === 'string' ? /^[\^~>=v ]*(\d+)/.exec(range)?.[1] : undefined
    if (major === undefined) continue
    if (name === 'npm') return { name, version: null }
    const table: Readonly<Record<string, string>> = PINNED.engines[name]
    const version = Object.hasOwn(table, major) ? table[major] : undefined
    if (version !== undefined) return { name, version }
  }
  return null
}

const QUIET = '--no-audit --no-fund --no-update-notifier'

export function installCommand(manager: PackageManager): string {
  const { name, lock } = manager
  if (name === 'npm') return `${programOf(manager)} ${lock === null ? 'install' : 'ci'} ${QUIET}`
  if (!isBerry(manager))
    return `${programOf(manager)} install ${lock === null ? '--no-frozen-lockfile' : '--frozen-lockfile'}`
  // Without node_modules no start script finds its programs. Berry ignores npm's own variable for the registry.
  const settings =
    'YARN_NODE_LINKER=node-modules ${npm_config_registry:+YARN_NPM_REGISTRY_SERVER="$npm_config_registry"}'
  return `env ${settings} ${programOf(manager)} install ${lock === null ? '--no-immutable' : '--immutable'}`
}

/** Through the manager itself, so that scripts which call it find it. */
export function scriptCommand(manager: PackageManager, script: string): string {
  const settings = isBerry(manager) ? 'YARN_NODE_LINKER=node-modules ' : ''
  return `${settings}${programOf(manager)} run ${script}`
}

function programOf(manager: PackageManager): string {
  const { name, version } = manager
  if (version === null) return name
  // The package `yarn` ends with the first major; later ones are published under another name.
  return `npx --yes ${isBerry(manager) ? '@yarnpkg/cli-dist' : name}@${version}`
}

function isBerry({ name, version }: PackageManager): boolean {
  return name === 'yarn' && version !== null && !/^[01]\./.test(version)
}
