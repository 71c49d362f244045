import { z } from 'zod'
import { framework } from '@offshoot/contract/app'
import { DeployFailure } from './deploy-failure.ts'
import { SOURCE_FOLDER } from './fetch-source.ts'
import type { Ran } from '../../sandboxes/guest-shell.ts'

export type ManagerName = 'npm' | 'yarn' | 'pnpm' | 'bun'

/**
 * Lock files of each manager; where there are several, the manager itself reads the first. Of several managers the first
 * is chosen: a forgotten lock file is mostly npm's.
 */
export const LOCK_FILES: Readonly<Record<ManagerName, readonly string[]>> = {
  pnpm: ['pnpm-lock.yaml'],
  yarn: ['yarn.lock'],
  bun: ['bun.lock', 'bun.lockb'],
  npm: ['npm-shrinkwrap.json', 'package-lock.json'],
}

/** Limit of a file with build settings, in bytes. */
const MAX_FILE_BYTES = 256 * 1024
/** Bytes of a lock file, which names its format at its beginning. */
const HEAD_BYTES = 4096
const NODE_LOCKS = Object.values(LOCK_FILES).flat().join(' ')
const NO_FOLDER = 3
const OUTSIDE = 4

/** Prints what {@link projectOf} parses, for the folder `$ROOT` of the checked-out commit. */
export const READ_PROJECT = `cd -- "${SOURCE_FOLDER}/$ROOT" 2>/dev/null || exit ${NO_FOLDER}
here=$(pwd -P)
case "$here/" in ${SOURCE_FOLDER}/*) ;; *) exit ${OUTSIDE};; esac
printf 'folder %s\\n' "$here"
for file in package.json *.lock *-lock.json *-lock.yaml npm-shrinkwrap.json bun.lockb requirements*.txt .npmrc .yarnrc* \
  pnpm-workspace.yaml .nvmrc .node-version .python-version; do
  [ -f "$file" ] && set -- "$@" "$file"
done
[ $# -eq 0 ] || sha256sum -- "$@" | sed 's/^/lock /'
for file in offshoot.json package.json Procfile; do
  [ -f "$file" ] && printf 'file %s %s\\n' "$file" "$(head -c ${MAX_FILE_BYTES} "$file" | base64 -w 0)"
done
ls -1A | head -n 2000 | sed 's/^/entry /'
has_lock() { for lock in ${NODE_LOCKS}; do [ -f "$1/$lock" ] && return 0; done; return 1; }
is_workspace() { [ -f "$1/pnpm-workspace.yaml" ] || grep -qs '"workspaces"' "$1/package.json"; }
at=$here
has_lock "$at" || while [ "$at" != ${SOURCE_FOLDER} ]; do
  at=\${at%/*}
  has_lock "$at" && is_workspace "$at" && break
done
{ has_lock "$at" && { [ "$at" = "$here" ] || is_workspace "$at"; }; } || at=$here
printf 'install-folder %s\\n' "$at"
for file in ${NODE_LOCKS} pnpm-workspace.yaml; do [ -f "$at/$file" ] && printf 'install-entry %s\\n' "$file"; done
for file in yarn.lock pnpm-lock.yaml; do
  [ -f "$at/$file" ] && printf 'install-head %s %s\\n' "$file" "$(head -c ${HEAD_BYTES} "$at/$file" | base64 -w 0)"
done
[ ! -f "$at/package.json" ] ||
  printf 'install-file package.json %s\\n' "$(head -c ${MAX_FILE_BYTES} "$at/package.json" | base64 -w 0)"
`

const command = z.string().max(8192).optional()

/** `offshoot.json` in the folder that is built. */
const settings = z.object({
  framework: framework.optional(),
  install_command: command,
  build_command: command,
  start_command: command,
  /** Folder with the files of a static site, relative to the folder that is built. */
  output_directory: z.string().max(1024).optional(),
  /** Whether a visitor stays with the same instance. */
  sticky: z.boolean().default(false),
  /** Whether the next build may reuse the installed dependencies. */
  cache: z.boolean().default(true),
})
export type ProjectSettings = z.infer<typeof settings>

const packageJson = z.object({
  main: z.string().optional().catch(undefined),
  scripts: z.record(z.string(), z.unknown()).default({}).catch({}),
  dependencies: z.record(z.string(), z.unknown()).default({}).catch({}),
  devDependencies: z.record(z.string(), z.unknown()).default({}).catch({}),
  workspaces: z.unknown().optional(),
  packageManager: z.unknown().optional(),
  engines: z.record(z.string(), z.unknown()).default({}).catch({}),
})
export type PackageJson = z.infer<typeof packageJson>

/** The contents of the folder that is built, as far as the plan needs them. */
export interface Project {
  /** Absolute path in the guest. */
  readonly folder: string
  readonly entries: ReadonlySet<string>
  readonly settings: ProjectSettings
  readonly packageJson: PackageJson | null
  readonly procfile: string | null
  /** The files that determine what is installed, and how. */
  readonly locks: readonly LockFile[]
  readonly install: InstallFolder
}

/** Where dependencies of Node are installed: the built folder, or the root of the workspace that it belongs to. */
export interface InstallFolder {
  /** Absolute, in the guest. */
  readonly folder: string
  /** Lock files, and `pnpm-workspace.yaml`. */
  readonly entries: ReadonlySet<string>
  /** Beginnings of lock files that name their format there. */
  readonly heads: ReadonlyMap<string, string>
  readonly packageJson: PackageJson | null
}

export interface LockFile {
  readonly name: string
  readonly sha256: string
}

/** @throws DeployFailure */
export function projectOf({ exitCode, stdout }: Ran, rootDirectory: string): Project {
  if (exitCode === NO_FOLDER) throw new DeployFailure(`root_directory ${rootDirectory} is not in the repository`)
  if (exitCode === OUTSIDE) throw new DeployFailure(`root_directory ${rootDirectory} leads out of the repository`)
  if (exitCode !== 0) throw new DeployFailure(`the repository could not be read (code ${exitCode})`)
  return parseProject(stdout)
}

/** @throws DeployFailure */
export function parseProject(listing: string): Project {
  const lines = listing.split('\n')
  const after = (prefix: string) =>
    lines.flatMap((line) => (line.startsWith(prefix) ? [line.slice(prefix.length)] : []))
  const textsAfter = (prefix: string) =>
    new Map(
      after(prefix).map((line) => {
        const space = line.indexOf(' ')
        return [line.slice(0, space), Buffer.from(line.slice(space + 1), 'base64').toString('utf8')]
      }),
    )
  const files = textsAfter('file ')
  const folder = after('folder ')[0] ?? SOURCE_FOLDER
  return {
    folder,
    entries: new Set(after('entry ')),
    settings: parseFile(files, 'offshoot.json', settings) ?? settings.parse({}),
    packageJson: parseFile(files, 'package.json', packageJson),
    procfile: files.get('Procfile') ?? null,
    locks: after('lock ').flatMap((line) => {
      const [, sha256, name] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line) ?? []
      return sha256 === undefined || name === undefined ? [] : [{ name, sha256 }]
    }),
    install: {
      folder: after('install-folder ')[0] ?? folder,
      entries: new Set(after('install-entry ')),
      heads: textsAfter('install-head '),
      packageJson: parseFile(textsAfter('install-file '), 'package.json', packageJson),
    },
  }
}

function parseFile<Schema extends z.ZodType>(
  files: ReadonlyMap<string, string>,
  name: string,
  schema: Schema,
): z.output<Schema> | null {
  const text = files.get(name)
  if (text === undefined) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new DeployFailure(`${name} is no JSON`)
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new DeployFailure(`${name}: ${issue?.path.join('.')}: ${issue?.message}`)
}
