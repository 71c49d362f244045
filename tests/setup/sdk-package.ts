import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')

/** The built and packed SDK, in a folder of its own. */
export interface SdkPackage {
  readonly tarball: string
  /** A folder where nothing but the SDK and these packages are installed, as `name@version`. */
  install(...packages: readonly string[]): Promise<string>
  remove(): Promise<void>
}

export async function packSdk(): Promise<SdkPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-sdk-'))
  const built = join(folder, 'built')
  await run(process.execPath, [join(repository, 'packages/sdk/build.mjs'), built])
  await run('npm', ['pack', '--pack-destination', folder], { cwd: built })
  const name = (await readdir(folder)).find((each) => each.endsWith('.tgz'))
  const tarball = join(folder, name ?? '')
  return {
    tarball,
    install: async (...packages) => {
      const place = await mkdtemp(join(folder, 'installed-'))
      await writeFile(join(place, 'package.json'), '{"private":true,"type":"module"}')
      await run('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', tarball, ...packages], {
        cwd: place,
      })
      return place
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
