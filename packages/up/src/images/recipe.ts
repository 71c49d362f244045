import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { templateImage } from '@offshoot/contract/template-image'
import { z } from 'zod'
import { SetupFailure } from '../base/setup-failure.ts'

const described = templateImage.omit({ version: true, packages: true }).extend({
  /** Slow to build and rarely needed: built only if OFFSHOOT_TEMPLATES names it. */
  only_when_named: z.boolean().default(false),
})

/**
 * `templates/NAME/recipe.json`: the contents of `template.json`, and how to build the image. Beside it, `files/` is
 * copied over the image's root. For Debian images, `setup.sh` then runs inside the image as root.
 */
export const recipe = z.discriminatedUnion('made_of', [
  described.extend({
    made_of: z.literal('busybox'),
    /** Folders to create, with octal mode and the uid (also gid) of the owner. */
    folders: z.array(
      z.strictObject({ path: z.string(), mode: z.string().regex(/^[0-7]{3,4}$/), owner: z.int().min(0) }),
    ),
  }),
  described.extend({
    made_of: z.literal('debian'),
    /** Code name of the Debian release. */
    suite: z.string(),
    /** Debian packages beyond the essential ones. Recommended packages are not installed. */
    packages: z.array(z.string()).min(1),
    /** Apparent size of the disk in MiB, into which the file system may grow. Default: the size of the file system. */
    device_mb: z.int().max(1_048_576).optional(),
    /** Byte-compiles all Python packages at the end, with all CPUs, instead of each as it is installed. Saves a minute. */
    compile_python_last: z.boolean().default(false),
    /** Folder of the image for the packages of `npm/package-lock.json`, which is beside the recipe. */
    npm_folder: z.string().startsWith('/').optional(),
  }),
  described.extend({
    /** The disk of another template with another VM size. */
    made_of: z.literal('template'),
    /** Name of the other template. */
    disk_of: z.string(),
  }),
])

export type Recipe = z.infer<typeof recipe>
export type BusyboxRecipe = Extract<Recipe, { made_of: 'busybox' }>
export type DebianRecipe = Extract<Recipe, { made_of: 'debian' }>
export type TemplateRecipe = Extract<Recipe, { made_of: 'template' }>

/**
 * @param folder contains one folder per recipe
 * @param names the wanted templates; `null`: all without `only_when_named`. Templates whose disk they share are
 *   included
 * @throws {SetupFailure} if a wanted template does not exist
 */
export async function readRecipes(folder: string, names: readonly string[] | null): Promise<readonly Recipe[]> {
  const known = (await readdir(folder)).sort()
  const unknown = (names ?? []).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new SetupFailure(`There is no template "${unknown}"; there are ${known.join(', ')}.`)
  const all = await readAll(folder, names ?? known)
  const wanted = all.filter((each) => names !== null || !each.only_when_named)
  const disks = wanted.flatMap((each) => (each.made_of === 'template' ? [each.disk_of] : []))
  const missing = disks.filter((name) => wanted.every((each) => each.name !== name))
  return [...(await readAll(folder, [...new Set(missing)])), ...wanted]
}

async function readAll(folder: string, names: readonly string[]): Promise<readonly Recipe[]> {
  return Promise.all(
    names.map(async (name) => recipe.parse(JSON.parse(await readFile(join(folder, name, 'recipe.json'), 'utf8')))),
  )
}
