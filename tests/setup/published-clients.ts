import { execFile } from 'node:child_process'
import { access, copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Offshoot } from './offshoot.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')

/** Environment of a program that uses a client of E2B. */
export function e2bEnvironment({ credentials }: Offshoot): NodeJS.ProcessEnv {
  return {
    ...process.env,
    E2B_API_KEY: credentials.e2b_api_key,
    E2B_API_URL: credentials.e2b_api_url,
    E2B_SANDBOX_URL: credentials.e2b_sandbox_url,
    E2B_DOMAIN: credentials.e2b_domain,
  }
}

/**
 * The Python of a virtual environment with a published package, made once.
 * @param name may end with extras: `package[extra]`
 * @throws if this machine has no Python
 */
export async function installPythonClient(name: string, version: string): Promise<string> {
  const folder = join(repository, '.offshoot/clients', `python-${name.replaceAll(/[[\]]/g, '-')}-${version}`)
  const python = join(folder, 'bin/python')
  if (await isInstalled(folder)) return python
  await run('python3', ['-m', 'venv', folder])
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `${name}==${version}`])
  await writeFile(join(folder, 'installed'), '')
  return python
}

/**
 * A folder with a published package and its dependencies, installed once from the npm registry of this machine.
 * @param peers further packages that it needs, as `name@version`
 */
export async function installClient(name: string, version: string, ...peers: readonly string[]): Promise<string> {
  const folder = join(repository, '.offshoot/clients', `${name.replaceAll('/', '-')}-${version}`)
  if (await isInstalled(folder)) return folder
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  const packages = [`${name}@${version}`, ...peers]
  await run('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', ...packages], { cwd: folder })
  await writeFile(join(folder, 'installed'), '')
  return folder
}

/** Copies a program of `tests/setup/frameworks`, with other files that it needs, beside the packages that it imports. */
export async function placeProgram(folder: string, name: string, ...others: readonly string[]): Promise<string> {
  const programs = join(import.meta.dirname, 'frameworks')
  for (const file of ['steps.mjs', name, ...others]) await copyFile(join(programs, file), join(folder, file))
  return join(folder, name)
}

function isInstalled(folder: string): Promise<boolean> {
  return access(join(folder, 'installed')).then(
    () => true,
    () => false,
  )
}
