#!/usr/bin/env node
/**
 * `offshoot` in the npm package (`bin/offshoot.js`). The commands of the server parse their options themselves; everything
 * else is the command line's.
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const files = dirname(dirname(fileURLToPath(import.meta.url)))
const [command, ...rest] = process.argv.slice(2)

/** Commands of the server, by the functions that run them. */
const SERVER = {
  up: 'up',
  doctor: 'doctor',
  backup: 'backup',
  restore: 'restore',
  'support-bundle': 'supportBundle',
  install: 'install',
  uninstall: 'uninstall',
  upgrade: 'upgrade',
  rollback: 'rollback',
}
if (command !== undefined && Object.hasOwn(SERVER, command)) {
  const { [SERVER[command]]: run } = await import(new URL('../dist/up.js', import.meta.url).href)
  process.exit(await run(rest, files))
}
await import(new URL('../dist/cli.js', import.meta.url).href)
