import { takeLock } from '@offshoot/kit/exclusive-lock'
import { currentProduct } from './base/product.ts'
import type { UpArguments } from './base/arguments.ts'
import { dataLayout, doesDataDirExist, type DataLayout } from './base/data-layout.ts'
import { SetupFailure } from './base/setup-failure.ts'
import { makeSignInLink } from './config/credentials.ts'

/** `bin/up --sign-in-link`: prints a new link to the console of the service that runs in the data directory. */
export async function signInLink(args: UpArguments, stop: AbortSignal): Promise<void> {
  const layout = dataLayout(args.dataDir, args.imagesDir)
  if (!(await isRunning(layout))) {
    const { command } = currentProduct()
    throw new SetupFailure(`Offshoot does not run in ${layout.dir}: ${command} starts it and prints a link.`)
  }
  process.stdout.write(`${await makeSignInLink(layout, stop)}\n`)
}

async function isRunning(layout: DataLayout): Promise<boolean> {
  if (!(await doesDataDirExist(layout))) return false
  const lock = await takeLock(layout.lock, 0)
  lock?.release()
  return lock === null
}
