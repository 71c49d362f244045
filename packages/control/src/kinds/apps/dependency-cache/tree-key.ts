import { createHash } from 'node:crypto'
import type { AppRow } from '../model/app-row.ts'
import type { BuildPlan } from '../project/build-plan.ts'
import type { Project } from '../project/read-project.ts'

/** Scripts that npm and similar tools run during an install. Their results may depend on any file in the folder. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']

/**
 * The cache key of an installed tree: two builds with the same key would install the same. `null` if that cannot be
 * determined, or if the cache is disabled. The image determines the versions of node, npm and Python.
 * @param imageDigest of the template in which the tree was installed
 */
export function treeKey(
  app: Pick<AppRow, 'env' | 'port'>,
  {
    install,
    framework,
    installFolder,
    packageManager,
  }: Pick<BuildPlan, 'install' | 'framework' | 'installFolder' | 'packageManager'>,
  { folder, locks, install: installed, settings, packageJson }: Project,
  imageDigest: string | null,
): string | null {
  if (install === null || imageDigest === null || !settings.cache) return null
  // The files of a workspace's other members are not read, so its root can serve no key.
  if (installFolder !== folder || installed.entries.has('pnpm-workspace.yaml')) return null
  if (packageManager !== null && packageManager.lock === null) return null
  if (!locks.some(({ name }) => LOCK_FILE.test(name))) return null
  if (packageJson !== null && (packageJson.workspaces !== undefined || runsItsOwn(packageJson.scripts))) return null
  // The sealed form: it changes each time the variables are set, and the key reveals nothing about them.
  const env = app.env.toString('base64')
  const sorted = locks.map(({ name, sha256 }) => `${name} ${sha256}`).toSorted()
  const parts = [imageDigest, folder, installFolder, packageManager, framework, install, app.port, env, sorted]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** The lock files among the files that `read-project.ts` reads. */
const LOCK_FILE =
  /^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|requirements[^/]*\.txt|.+\.lock)$/

function runsItsOwn(scripts: Readonly<Record<string, unknown>>): boolean {
  return INSTALL_SCRIPTS.some((name) => scripts[name] !== undefined)
}
