/**
 * Builds the console: node packages/console/build.mjs FOLDER
 *
 * FOLDER gets index.html and assets/, each file also compressed as FILE.br and FILE.gz where that is smaller.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { build } from 'vite'

const COMPRESSIBLE = /\.(html|js|css|svg|json|txt)$/
const compressions = { br: promisify(brotliCompress), gz: promisify(gzip) }

async function main([folder]) {
  if (folder === undefined) throw new Error('usage: node packages/console/build.mjs FOLDER')
  const outDir = resolve(folder)
  const root = fileURLToPath(new URL('.', import.meta.url))
  await build({
    root,
    configFile: join(root, 'vite.config.ts'),
    // The checkout may be one that this user cannot write to.
    configLoader: 'native',
    logLevel: 'warn',
    build: { outDir, emptyOutDir: true },
  })
  for (const name of await readdir(outDir, { recursive: true }))
    if (COMPRESSIBLE.test(name)) await compress(join(outDir, name))
}

async function compress(path) {
  const content = await readFile(path)
  for (const [ending, compressed] of Object.entries(compressions)) {
    const smaller = await compressed(content)
    if (smaller.length < content.length) await writeFile(`${path}.${ending}`, smaller)
  }
}

await main(process.argv.slice(2))
