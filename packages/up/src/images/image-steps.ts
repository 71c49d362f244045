import { consoleStep } from './console.ts'
import { docsStep } from './docs.ts'
import { guestProgramStep } from './guest-program.ts'
import { initramfsStep } from './initramfs.ts'
import { jailStep } from './jail.ts'
import { kernelStep } from './kernel.ts'
import { currentProduct } from '../base/product.ts'
import { guestMemoryStep } from './guest-memory.ts'
import { qemuStep } from './qemu.ts'
import { readRecipes } from './recipe.ts'
import { servicesStep } from './services.ts'
import type { Step } from './step.ts'
import { templateStep } from './template-step.ts'
import { tscKhzStep, withListenerStep, withTapStep, writeOutStep } from './native-program.ts'

/**
 * All steps of IMAGES in dependency order. The Debian image takes longest, so templates come first; those that share a
 * disk come last.
 * @param isHost without what only control serves
 */
export async function imageSteps(
  recipesFolder: string,
  templates: readonly string[] | null,
  isHost = false,
): Promise<readonly Step[]> {
  const recipes = await readRecipes(recipesFolder, templates)
  const sharing = recipes.filter((recipe) => recipe.made_of === 'template')
  const own = recipes.filter((recipe) => recipe.made_of !== 'template')
  return [
    ...[...own, ...sharing].map((recipe) => templateStep(recipe, recipesFolder)),
    qemuStep(),
    kernelStep(),
    guestProgramStep(),
    initramfsStep(),
    guestMemoryStep(),
    withTapStep(),
    withListenerStep(),
    jailStep(),
    tscKhzStep(),
    writeOutStep(),
    ...(currentProduct().isPacked ? [] : [servicesStep(), ...(isHost ? [] : [consoleStep(), docsStep()])]),
  ]
}
