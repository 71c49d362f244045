import { currentProduct } from '../base/product.ts'
import { mkdir } from 'node:fs/promises'
import { takeLock } from '@offshoot/kit/exclusive-lock'
import type { Progress } from './progress.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { runSteps } from './run-steps.ts'
import type { Step } from './step.ts'

/** Seconds to wait for another bin/up that builds the same images. */
const LOCK_WAIT_S = 1800

/** Brings IMAGES up to date. A lock lets one process build while others wait. */
export async function buildImages(
  imagesDir: string,
  steps: readonly Step[],
  progress: Progress,
  stop: AbortSignal,
): Promise<void> {
  await mkdir(imagesDir, { recursive: true })
  const lock = await takeLock(`${imagesDir}/.lock`, LOCK_WAIT_S)
  if (lock === null) throw new SetupFailure(`Another ${currentProduct().command} is still building ${imagesDir}.`)
  try {
    await runSteps(steps, imagesDir, stop, progress)
  } finally {
    lock.release()
  }
}
