import { chmod, copyFile, cp, mkdir, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { runCommand } from '../base/run-command.ts'
import { fetchDebianPackage } from './debian-package.ts'
import type { BusyboxRecipe } from './recipe.ts'
import type { OwnerOfPath, RootFolder } from './root-folder.ts'
import type { StepWork } from './step.ts'

/**
 * Builds a root file system from Debian's static busybox, links for its applets, and the recipe's own files. Needs no
 * root.
 */
export async function buildBusyboxRoot(
  recipe: BusyboxRecipe,
  recipeFolder: string,
  work: StepWork,
): Promise<RootFolder> {
  const busybox = await fetchDebianPackage(work, async () => 'busybox-static')
  const path = join(work.folder, 'root')
  await mkdir(path)
  for (const folder of recipe.folders) {
    await mkdir(join(path, folder.path), { recursive: true })
    await chmod(join(path, folder.path), Number.parseInt(folder.mode, 8))
  }
  await cp(join(recipeFolder, 'files'), path, { recursive: true })
  const program = join(path, 'bin/busybox')
  await mkdir(dirname(program), { recursive: true })
  await copyFile(join(busybox.folder, 'bin/busybox'), program)
  await linkApplets(path, program, work)
  return { path, packages: { busybox: busybox.version }, owners: ownersOf(recipe) }
}

async function linkApplets(root: string, program: string, work: StepWork): Promise<void> {
  const applets = await runCommand(program, ['--list-full'], { deadline: work.deadline })
  for (const applet of applets.split('\n')) {
    const link = join(root, applet)
    if (applet === '' || link === program) continue
    await mkdir(dirname(link), { recursive: true })
    await symlink(relative(dirname(link), program), link)
  }
}

function ownersOf(recipe: BusyboxRecipe): OwnerOfPath {
  const owners = new Map(recipe.folders.map((folder) => [`/${folder.path}`, folder.owner]))
  return (path) => {
    for (let at = path; at !== '/'; at = dirname(at)) {
      const owner = owners.get(at)
      if (owner !== undefined) return owner
    }
    return 0
  }
}
