import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { templateImage } from '@offshoot/contract/template-image'
import { z } from 'zod'
import { SetupFailure } from '../setup-failure.ts'

const described = templateImage.omit({ version: true, packages: true }).extend({
  /** Takes long to make and few need it: only where somebody asks for it by its name (OFFSHOOT_TEMPLATES). */
  only_when_named: z.boolean().default(false),
})

/**
 * `templates/NAME/recipe.json`: what `template.json` will say of the image, and how the image is made.
 * Beside it `files/`, copied over the image's root, and for Debian images `setup.sh`, run as root inside it at the end.
 */
export const recipe = z.discriminatedUnion('made_of', [
  described.extend({
    made_of: z.literal('busybox'),
    /** Folders to make, with their mode in octal and the uid (also gid) that owns them. */
    folders: z.array(
      z.strictObject({ path: z.string(), mode: z.string().regex(/^[0-7]{3,4}$/), owner: z.int().min(0) }),
    ),
  }),
  described.extend({
    made_of: z.literal('debian'),
    /** Code name of the release. */
    suite: z.string(),
    /** Debian packages beside the essential ones; recommended ones are not brought in. */
    packages: z.array(z.string()).min(1),
    /** Apparent size of the disk, MiB, when its file system is to be able to grow into it; default: as large as that. */
    device_mb: z.int().max(1_048_576).optional(),
    /** Folder of the image into which the packages of `npm/package-lock.json`, beside the recipe, are installed. */
    npm_folder: z.string().startsWith('/').optional(),
  }),
  described.extend({
    /** The disk of another template, with another size of machine. */
    made_of: z.literal('template'),
    /** Name of that template. */
    disk_of: z.string(),
  }),
])

export type Recipe = z.infer<typeof recipe>
export type BusyboxRecipe = Extract<Recipe, { made_of: 'busybox' }>
export type DebianRecipe = Extract<Recipe, { made_of: 'debian' }>
export type TemplateRecipe = Extract<Recipe, { made_of: 'template' }>

/**
 * @param folder holds one folder a recipe
 * @param names the wanted ones, or `null` for all that need not be named; those whose disk they have come with them
 * @throws {SetupFailure} when a wanted one does not exist
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
