#!/usr/bin/env node
/**
 * The command `offshoot`. In the repository it runs the TypeScript sources, which Node.js 24 understands by itself.
 */
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'

const [command, ...rest] = process.argv.slice(2)
/** Commands of `bin/up`, by how it spells them. */
const SPELLED = {
  up: [],
  doctor: ['--doctor'],
  backup: ['backup'],
  restore: ['restore'],
  'support-bundle': ['support-bundle'],
  install: ['install'],
  uninstall: ['uninstall'],
}
if (command !== undefined && Object.hasOwn(SPELLED, command)) {
  const up = fileURLToPath(new URL('../../../bin/up', import.meta.url))
  // In place of this process, so that signals reach it.
  process.execve(up, [up, ...SPELLED[command], ...rest], process.env)
}

// Keeps what Node.js compiled, which halves the start. Node.js 20 lacks it.
module.enableCompileCache?.()
await import('../src/main.ts')
