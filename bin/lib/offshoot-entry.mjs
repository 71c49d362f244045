#!/usr/bin/env node
/**
 * `offshoot` in the npm package (`bin/offshoot.js`). The commands of the server parse their options themselves; everything
 * else is the command line's.
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const files = dirname(dirname(fileURLToPath(import.meta.url)))
const [command, ...rest] = process.argv.slice(2)

if (['up', 'doctor', 'backup', 'restore'].includes(command)) {
  const { [command]: run } = await import(new URL('../dist/up.js', import.meta.url).href)
  process.exit(await run(rest, files))
}
await import(new URL('../dist/cli.js', import.meta.url).href)
