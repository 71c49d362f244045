import type { Framework } from '@offshoot/contract/app'
import type { AppRow } from '../model/app-row.ts'
import { DeployFailure } from './deploy-failure.ts'
import { installCommand, type PackageManager, packageManagerOf, scriptCommand } from './package-manager.ts'
import type { PackageJson, Project } from './read-project.ts'

/** The commands that a deployment runs in its sandbox, in this order; `null` where there is nothing to run. */
export interface BuildPlan {
  readonly framework: Framework
  readonly install: string | null
  /** Where `install` runs: the workspace's root for a detected command, else the folder that is built. */
  readonly installFolder: string
  /** `null`: the app names its own commands, or is not built with Node. */
  readonly packageManager: PackageManager | null
  readonly build: string | null
  /** `null`: the app is a static site, served from one of {@link folders}. */
  readonly start: string | null
  /** Candidate folders of a static site, best first. */
  readonly folders: readonly string[]
  /** Whether paths without a file get the site's first page. */
  readonly isSinglePage: boolean
}

type Chosen = Pick<AppRow, 'framework' | 'install_command' | 'build_command' | 'start_command'>

/** The app's own fields have priority, then `offshoot.json`, then detection by the files. @throws DeployFailure */
export function planBuild(app: Chosen, project: Project): BuildPlan {
  const { settings } = project
  const framework = app.framework ?? settings.framework ?? detect(app.start_command ?? settings.start_command, project)
  const ownInstall = app.install_command ?? settings.install_command
  const ownBuild = app.build_command ?? settings.build_command
  const isNode = framework === 'vite' || framework === 'nextjs' || framework === 'node'
  // With both commands of its own, an app may also name a manager that control does not know.
  const isChosen = isNode && project.packageJson !== null && (ownInstall === undefined || ownBuild === undefined)
  const packageManager = isChosen ? packageManagerOf(project) : null
  const usual = USUAL[framework](project, packageManager)
  const start = app.start_command ?? settings.start_command ?? usual.start
  if (start === undefined) throw new DeployFailure(`nothing says how to start it: set start_command`)
  const { output_directory: output } = settings
  return {
    framework,
    install: ownInstall ?? usual.install,
    installFolder: ownInstall === undefined && packageManager !== null ? project.install.folder : project.folder,
    packageManager,
    build: ownBuild ?? usual.build,
    start,
    folders: output === undefined ? usual.folders : [output],
    isSinglePage: framework === 'vite',
  }
}

const PYTHON_FILES = ['requirements.txt', 'pyproject.toml', 'app.py', 'main.py', 'wsgi.py', 'manage.py']
const VITE_FILES = ['vite.config.js', 'vite.config.ts', 'vite.config.mjs', 'vite.config.mts']

function detect(start: string | null | undefined, { entries, packageJson, procfile }: Project): Framework {
  const hasAny = (names: readonly string[]) => names.some((name) => entries.has(name))
  if (packageJson !== null) {
    const depends = { ...packageJson.devDependencies, ...packageJson.dependencies }
    if ('next' in depends) return 'nextjs'
    const isServer = packageJson.scripts['start'] !== undefined
    if (('vite' in depends || hasAny(VITE_FILES)) && !isServer) return 'vite'
    if (isServer || nodeStart(packageJson, entries) !== undefined) return 'node'
  }
  if (hasAny(PYTHON_FILES) || (procfile !== null && packageJson === null)) return 'python'
  if (entries.has('index.html') || entries.has('public')) return 'static'
  if (start !== null && start !== undefined) return packageJson === null ? 'static' : 'node'
  throw new DeployFailure('no framework was detected: set framework, or start_command')
}

interface Usual {
  readonly install: string | null
  readonly build: string | null
  readonly start: string | null | undefined
  readonly folders: readonly string[]
}

const USUAL: Record<Framework, (project: Project, manager: PackageManager | null) => Usual> = {
  static: () => ({ install: null, build: null, start: null, folders: ['.', 'public', 'dist', 'build', 'out'] }),
  vite: (project, manager) => ({
    install: nodeInstall(project, manager),
    build: nodeBuild(project, manager) ?? 'npx vite build',
    start: null,
    folders: ['dist', 'build'],
  }),
  nextjs: (project, manager) => ({
    install: nodeInstall(project, manager),
    build: nodeBuild(project, manager) ?? 'npx next build',
    start: hasScript(project, 'start') ? nodeStart(project.packageJson, project.entries) : 'next start',
    folders: [],
  }),
  node: (project, manager) => ({
    install: nodeInstall(project, manager),
    build: nodeBuild(project, manager),
    start: nodeStart(project.packageJson, project.entries),
    folders: [],
  }),
  python: (project) => ({
    install: pythonInstall(project),
    build: null,
    start: pythonStart(project),
    folders: [],
  }),
}

function hasScript({ packageJson }: Project, name: string): boolean {
  return packageJson !== null && typeof packageJson.scripts[name] === 'string'
}

/**
 * Installs with the project's package manager. `null` if there is nothing to install. A member of a workspace is
 * installed together with all others.
 */
function nodeInstall({ folder, install, packageJson }: Project, manager: PackageManager | null): string | null {
  if (packageJson === null || manager === null) return null
  const { dependencies, devDependencies } = packageJson
  const isEmpty = Object.keys(dependencies).length + Object.keys(devDependencies).length === 0
  return isEmpty && install.folder === folder ? null : installCommand(manager)
}

function nodeBuild(project: Project, manager: PackageManager | null): string | null {
  return manager !== null && hasScript(project, 'build') ? scriptCommand(manager, 'build') : null
}

const MAIN_FILES = ['server.js', 'index.js', 'app.js', 'server.mjs', 'index.mjs', 'app.mjs', 'server.ts', 'index.ts']

/**
 * Runs the start script itself instead of npm, because it starts faster and receives signals. Only npm runs a
 * `prestart` script, so an app with one needs npm.
 */
function nodeStart(packageJson: PackageJson | null, entries: ReadonlySet<string>): string | undefined {
  const script = packageJson?.scripts['start']
  if (typeof script === 'string') return packageJson?.scripts['prestart'] === undefined ? script : 'npm start'
  const main = packageJson?.main ?? MAIN_FILES.find((name) => entries.has(name))
  return main === undefined ? undefined : `exec node ${quoted(main)}`
}

function pythonInstall({ entries }: Project): string | null {
  const what = entries.has('requirements.txt') ? '-r requirements.txt' : entries.has('pyproject.toml') ? '.' : null
  return what === null
    ? null
    : `python3 -m venv .venv && .venv/bin/pip install --no-input --disable-pip-version-check ${what}`
}

function pythonStart({ procfile, entries }: Project): string | undefined {
  const web = /^web:[ \t]*(.+)$/m.exec(procfile ?? '')?.[1]?.trim()
  if (web !== undefined) return web
  if (entries.has('manage.py')) return 'exec python manage.py runserver "0.0.0.0:$PORT"'
  const main = ['main.py', 'app.py', 'server.py', 'wsgi.py'].find((name) => entries.has(name))
  return main === undefined ? undefined : `exec python ${main}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
