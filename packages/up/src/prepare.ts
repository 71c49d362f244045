import type { UpArguments } from './base/arguments.ts'
import { ensureHostReady } from './host/debian-packages.ts'
import { checkResources, SETUP_NEEDS } from './host/resources.ts'
import { buildImages } from './images/build-images.ts'
import { imageSteps } from './images/image-steps.ts'
import { isAnyMissing } from './images/run-steps.ts'
import { Progress } from './images/progress.ts'
import { templatesFolder } from './base/repository.ts'

/** `bin/up --prepare`: installs Debian packages and builds images, so that later starts need not. */
export async function prepare(args: UpArguments, stop: AbortSignal): Promise<void> {
  const steps = await imageSteps(templatesFolder, args.templates)
  if (await isAnyMissing(steps, args.imagesDir)) await checkResources([args.imagesDir], SETUP_NEEDS)
  await ensureHostReady(args.isYes, stop)
  await buildImages(args.imagesDir, steps, new Progress(steps.map((step) => step.name)), stop)
}
