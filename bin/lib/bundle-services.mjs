/**
 * Bundles the programs of the services: node bin/lib/bundle-services.mjs FOLDER
 *
 * FOLDER gets a file for each program, and chunks that they share. See docs/adr/0047-bundled-services.md.
 */
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PROGRAMS = {
  agent: 'agent/src/main.ts',
  'checkpoint-thread': 'agent/src/machine/capture/checkpoint-thread.ts',
  control: 'control/src/main.ts',
  e2b: 'e2b/src/main.ts',
  edge: 'edge/src/main.ts',
  prepare: 'agent/src/prepare.ts',
}
/** Optional parts of `pg` and `ssh2`, which both work without them. */
const OPTIONAL = ['pg-native', 'cpu-features', /\.node$/]
/** `ssh2` needs it on Windows only. A module has none. */
const DEFINED = { __dirname: 'import.meta.dirname' }

async function main([folder]) {
  if (folder === undefined) throw new Error('usage: node bin/lib/bundle-services.mjs FOLDER')
  const dir = resolve(folder)
  const input = Object.fromEntries(Object.entries(PROGRAMS).map(([name, path]) => [name, join(root, 'packages', path)]))
  const bundle = await rolldown({
    input,
    platform: 'node',
    cwd: root,
    external: OPTIONAL,
    logLevel: 'silent',
    transform: { define: DEFINED },
  })
  // All files in one folder: the agent finds its thread beside its own chunk.
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' })
  await bundle.close()
  await writeFile(join(dir, 'package.json'), '{"type":"module"}\n')
}

await main(process.argv.slice(2))
