import { execFile } from 'node:child_process'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')

/** A folder with a published package and its dependencies, installed once from the npm registry of this machine. */
export async function installClient(name: string, version: string): Promise<string> {
  const folder = join(repository, '.offshoot/clients', `${name.replaceAll('/', '-')}-${version}`)
  const isThere = await access(join(folder, 'installed')).then(
    () => true,
    () => false,
  )
  if (isThere) return folder
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  await run('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', `${name}@${version}`], { cwd: folder })
  await writeFile(join(folder, 'installed'), '')
  return folder
}
