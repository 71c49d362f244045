import { chmod, link, mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { templateImage, type TemplateImage } from '@offshoot/contract/template-image'
import { repositoryRoot } from '../base/repository.ts'
import { buildBusyboxRoot } from './busybox-root.ts'
import { hashTexts, hashTree } from './content-hash.ts'
import { buildDebianRoot } from './debian-root.ts'
import { debianArchitecture } from './debian-package.ts'
import { makeExt4 } from './ext4-image.ts'
import { removeBuildFolder, type RunAsRoot, withImageRoot } from './image-root.ts'
import type { Recipe, TemplateRecipe } from './recipe.ts'
import type { RootFolder } from './root-folder.ts'
import type { Step, StepWork } from './step.ts'

/** Increment when the builders' output changes for an equal recipe. */
const VERSION = '1'

/** The step that builds `templates/NAME/{rootfs.ext4, template.json}` from a recipe. */
export function templateStep(recipe: Recipe, recipesFolder: string): Step {
  const recipeFolder = join(recipesFolder, recipe.name)
  const output = `templates/${recipe.name}`
  const inputsHash = async () =>
    hashTexts(VERSION, debianArchitecture(), await bundledVersions(recipe), await hashTree(recipeFolder))
  return {
    name: stepName(recipe.name),
    title: `image ${recipe.name}`,
    after: recipe.made_of === 'template' ? [stepName(recipe.disk_of)] : [],
    outputs: [output],
    maxSeconds: 900,
    inputsHash,
    run: async (work) => build(recipe, recipeFolder, work, join(work.folder, output), await inputsHash()),
  }
}

function stepName(template: string): string {
  return `template-${template}`
}

async function build(recipe: Recipe, recipeFolder: string, work: StepWork, output: string, version: string) {
  if (recipe.made_of === 'template') {
    await shareDisk(recipe, work, output, version)
    return
  }
  if (recipe.made_of === 'busybox') {
    await writeImage(recipe, await buildBusyboxRoot(recipe, recipeFolder, work), { work, output, version })
    return
  }
  await withImageRoot(work.deadline.signal, async (imageRoot) => {
    const root = await buildDebianRoot(recipe, recipeFolder, work, imageRoot)
    await writeImage(recipe, root, { work, output, version, run: imageRoot.run })
  })
}

interface Writing {
  readonly work: StepWork
  readonly output: string
  readonly version: string
  readonly run?: RunAsRoot
}

async function writeImage(
  recipe: Exclude<Recipe, TemplateRecipe>,
  root: RootFolder,
  { work, output, version, run }: Writing,
): Promise<void> {
  work.report('writing the file system')
  await mkdir(output, { recursive: true })
  const image = join(output, 'rootfs.ext4')
  const deviceMib = recipe.made_of === 'debian' ? recipe.device_mb : undefined
  await makeExt4(root, image, { diskMib: recipe.disk_mb, deviceMib }, work.deadline, run)
  if (deviceMib !== undefined) await truncate(image, deviceMib * 1024 ** 2)
  await chmod(image, 0o444) // guests' overlays depend on it; a write would corrupt them
  await removeBuildFolder(root.path, work.deadline)
  await writeFile(join(output, 'template.json'), `${JSON.stringify(describe(recipe, version, root), null, 2)}\n`)
}

/** Links the disk under a second name. This is safe because an image is never modified, only replaced as a whole. */
async function shareDisk(recipe: TemplateRecipe, { imagesDir }: StepWork, output: string, version: string) {
  const source = join(imagesDir, 'templates', recipe.disk_of)
  await mkdir(output, { recursive: true })
  await link(join(source, 'rootfs.ext4'), join(output, 'rootfs.ext4'))
  const { packages } = templateImage.parse(JSON.parse(await readFile(join(source, 'template.json'), 'utf8')))
  await writeFile(
    join(output, 'template.json'),
    `${JSON.stringify(describe(recipe, version, { packages }), null, 2)}\n`,
  )
}

function describe(recipe: Recipe, version: string, root: Pick<RootFolder, 'packages'>): TemplateImage {
  return templateImage.parse({
    name: recipe.name,
    version,
    cpu: recipe.cpu,
    ...(recipe.cpu_hardware !== undefined && { cpu_hardware: recipe.cpu_hardware }),
    memory_mb: recipe.memory_mb,
    disk_mb: recipe.disk_mb,
    start_cmd: recipe.start_cmd,
    ready_cmd: recipe.ready_cmd,
    ...(recipe.durable !== undefined && { durable: recipe.durable }),
    ...(recipe.on_demand !== undefined && { on_demand: recipe.on_demand }),
    description: recipe.description,
    packages: root.packages,
  })
}

/** Versions of the files that Debian images get from our own node_modules. */
async function bundledVersions(recipe: Recipe): Promise<string> {
  if (recipe.made_of !== 'debian') return ''
  const npm: unknown = JSON.parse(await readFile(join(repositoryRoot, 'node_modules/npm/package.json'), 'utf8'))
  return JSON.stringify([process.version, (npm as { version: string }).version])
}
