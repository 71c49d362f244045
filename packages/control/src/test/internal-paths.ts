import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const CONTRACT = join(import.meta.dirname, '../../../contract/src')

/** The routes between the processes, all of which the contract names. */
export async function internalPaths(): Promise<string[]> {
  const paths = new Set<string>()
  for await (const file of glob('*.ts', { cwd: CONTRACT })) {
    const text = await readFile(join(CONTRACT, file), 'utf8')
    for (const [, path = ''] of text.matchAll(/= '(\/internal\/[^']+)'/g)) paths.add(path)
  }
  return [...paths]
}
