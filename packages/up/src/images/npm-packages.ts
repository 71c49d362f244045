import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import type { DebianRecipe } from './recipe.ts'
import type { StepWork } from './step.ts'

const FILES = ['package.json', 'package-lock.json'] as const
const versions = z.record(z.string(), z.string())
/** Optional dependencies are specific to one architecture each. */
const packageJson = z.object({ dependencies: versions.default({}), optionalDependencies: versions.default({}) })

/**
 * Installs the packages of the recipe's lock file with our own npm and the host's registry, so the image build itself
 * needs no network. Install scripts do not run.
 * @returns name → version of the recipe's direct dependencies; empty without `npm_folder`
 */
export async function installNpmPackages(
  recipe: DebianRecipe,
  recipeFolder: string,
  root: string,
  work: StepWork,
): Promise<Record<string, string>> {
  if (recipe.npm_folder === undefined) return {}
  const folder = join(root, recipe.npm_folder)
  await mkdir(folder, { recursive: true })
  for (const file of FILES) await copyFile(join(recipeFolder, 'npm', file), join(folder, file))
  work.report('installing npm packages')
  const npm = join(repositoryRoot, 'node_modules/npm/bin/npm-cli.js')
  await runCommand(process.execPath, [npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    deadline: work.deadline,
    cwd: folder,
  })
  const { dependencies, optionalDependencies } = packageJson.parse(
    JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')),
  )
  const ofMachine = Object.entries(optionalDependencies).filter(([name]) => name.endsWith(`-${process.arch}`))
  return { ...dependencies, ...Object.fromEntries(ofMachine) }
}
