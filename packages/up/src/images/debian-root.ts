import { copyFile, cp, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { debianMirror } from './debian-mirror.ts'
import type { ImageRoot } from './image-root.ts'
import { installNpmPackages } from './npm-packages.ts'
import type { DebianRecipe } from './recipe.ts'
import type { RootFolder } from './root-folder.ts'
import type { StepWork } from './step.ts'

/** Packages call it for their Python modules while they are installed. */
const BYTE_COMPILER = '/usr/bin/py3compile'

/**
 * Builds a Debian root file system with mmdebstrap, our own Node.js and npm in /usr/local, and the recipe's own files.
 */
export async function buildDebianRoot(
  recipe: DebianRecipe,
  recipeFolder: string,
  work: StepWork,
  imageRoot: ImageRoot,
): Promise<RootFolder> {
  const path = join(work.folder, 'root')
  const hooks = recipe.compile_python_last ? await withoutByteCompiler(work.folder) : []
  const mode = `--mode=${imageRoot.mode}`
  await imageRoot.run('mmdebstrap', [mode, ...hooks, ...(await mmdebstrapArguments(recipe, recipeFolder, path))], {
    deadline: work.deadline,
    onLine: (line) => {
      const step = /^I: (installing.*|extracting.*|downloading.*)\.\.\.$/.exec(line)?.[1]
      if (step !== undefined) work.report(step)
    },
  })
  if (recipe.compile_python_last) await compilePython(path, work, imageRoot)
  await installNode(path)
  await cp(join(recipeFolder, 'files'), path, { recursive: true })
  const npmVersions = await installNpmPackages(recipe, recipeFolder, path, work)
  await imageRoot.runInside(path, ['/bin/sh', '-eu'], {
    deadline: work.deadline,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    input: await readFile(join(recipeFolder, 'setup.sh'), 'utf8'),
  })
  return { path, packages: { ...(await packageVersions(recipe, path, work)), ...npmVersions }, owners: 'as-is' }
}

async function mmdebstrapArguments(
  recipe: DebianRecipe,
  recipeFolder: string,
  path: string,
): Promise<readonly string[]> {
  // The recipe's dpkg settings (no manuals) apply while packages are installed. As --dpkgopt they would also filter the
  // first extraction, with one Python process per package: 13 s instead of 4 s.
  const dpkgSettings = join(recipeFolder, 'files/etc/dpkg/dpkg.cfg.d/paths')
  return [
    '--variant=minbase',
    '--format=directory',
    '--aptopt=APT::Install-Recommends "false"',
    '--aptopt=Acquire::Languages "none"',
    '--setup-hook=mkdir -p "$1/etc/dpkg/dpkg.cfg.d"',
    `--setup-hook=copy-in "${dpkgSettings}" /etc/dpkg/dpkg.cfg.d`,
    `--include=${recipe.packages.join(',')}`,
    recipe.suite,
    path,
    ...(await debianMirror(recipe.suite)),
  ]
}

/** Hooks of mmdebstrap that put a program which does nothing in the place of Debian's byte compiler. */
async function withoutByteCompiler(folder: string): Promise<readonly string[]> {
  const stub = join(folder, 'py3compile')
  await writeFile(stub, '#!/bin/sh\n', { mode: 0o755 })
  return [
    `--essential-hook=chroot "$1" dpkg-divert --quiet --local --rename --add ${BYTE_COMPILER}`,
    `--essential-hook=copy-in "${stub}" ${dirname(BYTE_COMPILER)}`,
  ]
}

/** `/usr/lib/python3.11` in Debian 12. */
async function standardLibrary(root: string): Promise<string> {
  const name = (await readdir(join(root, 'usr/lib'))).find((each) => /^python3\.\d+$/.test(each))
  if (name === undefined) throw new SetupFailure('The image has no Python standard library.')
  return `/usr/lib/${name}`
}

async function compilePython(root: string, work: StepWork, { runInside }: ImageRoot): Promise<void> {
  work.report('compiling Python packages')
  await rm(join(root, BYTE_COMPILER))
  const divert = ['--quiet', '--local', '--rename', '--remove', BYTE_COMPILER]
  await runInside(root, ['dpkg-divert', ...divert], { deadline: work.deadline })
  // -j 0: as many processes as CPUs.
  const compile = ['-m', 'compileall', '-q', '-j', '0', '/usr/lib/python3', await standardLibrary(root)]
  await runInside(root, ['python3', ...compile], { deadline: work.deadline })
}

/** Copies the Node.js that runs this program and its npm to the paths of their own distribution. */
async function installNode(root: string): Promise<void> {
  const local = join(root, 'usr/local')
  await copyFile(await realpath(process.execPath), join(local, 'bin/node'))
  await mkdir(join(local, 'lib/node_modules'), { recursive: true })
  await cp(join(repositoryRoot, 'node_modules/npm'), join(local, 'lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
  await symlink('../lib/node_modules/npm/bin/npx-cli.js', join(local, 'bin/npx'))
}

async function packageVersions(recipe: DebianRecipe, root: string, work: StepWork): Promise<Record<string, string>> {
  const format = '${Package}\\t${Version}\\n'
  const lines = await runCommand(
    'dpkg-query',
    [`--admindir=${join(root, 'var/lib/dpkg')}`, '-W', `-f=${format}`, ...recipe.packages],
    { deadline: work.deadline },
  )
  const npm: unknown = JSON.parse(await readFile(join(repositoryRoot, 'node_modules/npm/package.json'), 'utf8'))
  return {
    ...Object.fromEntries(
      lines
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t')),
    ),
    node: process.versions.node,
    npm: (npm as { version: string }).version,
  }
}
