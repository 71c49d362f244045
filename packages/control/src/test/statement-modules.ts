import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Statement } from '../platform/db/statement.ts'

const SOURCE = join(import.meta.dirname, '..')

export interface StatementModule {
  /** Relative to `src`. */
  readonly path: string
  /** By the names under which the module exports them. */
  readonly statements: ReadonlyMap<string, Statement<unknown, unknown[]>>
}

/** Imports all modules with statements. @throws Error if a module does not export all of its statements */
export async function statementModules(): Promise<readonly StatementModule[]> {
  const modules: StatementModule[] = []
  const paths: string[] = []
  for await (const path of glob('{fleet,kinds,platform}/**/*.ts', { cwd: SOURCE })) paths.push(path)
  for (const path of paths.toSorted()) {
    const text = await readFile(join(SOURCE, path), 'utf8')
    const made = text.match(/ = statement</g)?.length ?? 0
    if (made === 0) continue
    const exported = (await import(join(SOURCE, path))) as Record<string, unknown>
    const statements = new Map(Object.entries(exported).filter(isStatement))
    if (statements.size !== made) throw new Error(`${path} makes ${made} statements and exports ${statements.size}`)
    modules.push({ path, statements })
  }
  return modules
}

function isStatement(entry: [string, unknown]): entry is [string, Statement<unknown, unknown[]>] {
  return typeof entry[1] === 'function' && 'statementName' in entry[1]
}
