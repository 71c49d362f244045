import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SetupFailure } from '../base/setup-failure.ts'
import { UsageError } from '../base/usage-error.ts'

const VARIABLE = 'OFFSHOOT_BACKUP_PASSPHRASE'

/**
 * Reads the passphrase from a file or the environment. Other users of the machine can see arguments, so it is never one.
 * @param path of a file whose first line it is
 * @throws {UsageError} if none is given
 */
export async function readPassphrase(
  path: string | undefined,
  env: Readonly<NodeJS.ProcessEnv>,
  cwd: string,
): Promise<string> {
  if (path === undefined) {
    const given = env[VARIABLE]
    if (!given) throw new UsageError(`a passphrase is missing: use --passphrase-file FILE or the variable ${VARIABLE}`)
    return given
  }
  const text = await readFile(resolve(cwd, path), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SetupFailure(`The passphrase in ${path} cannot be read (${error.code}).`)
  })
  const [line = ''] = text.split(/\r?\n/)
  if (line === '') throw new SetupFailure(`The first line of ${path} is empty: it must be the passphrase.`)
  return line
}
