import { createHash } from 'node:crypto'
import type { AppRow } from '../app-row.ts'
import type { BuildPlan } from '../deploying/build-plan.ts'
import type { Project } from '../deploying/read-project.ts'

/** Scripts of a package that npm and its like run when they install it: what they make may follow from any file there. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']

/**
 * Names all that an installed tree follows from, so that two builds with the same key would install the same; `null` where
 * that cannot be told, or is not wanted. The image brings the versions of node, npm and Python with it.
 * @param imageDigest of the template that it was installed on
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
  // Sealed, and therefore another whenever it is given: what it holds cannot be told from the key.
  const env = app.env.toString('base64')
  const sorted = locks.map(({ name, sha256 }) => `${name} ${sha256}`).toSorted()
  const parts = [imageDigest, folder, installFolder, packageManager, framework, install, app.port, env, sorted]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Of the files that are read for it (`read-project.ts`), those that say which versions are installed. */
const LOCK_FILE =
  /^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|requirements[^/]*\.txt|.+\.lock)$/

function runsItsOwn(scripts: Readonly<Record<string, unknown>>): boolean {
  return INSTALL_SCRIPTS.some((name) => scripts[name] !== undefined)
}
