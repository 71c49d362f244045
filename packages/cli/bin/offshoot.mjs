#!/usr/bin/env node
/**
 * The command `offshoot`. In the repository it runs the TypeScript sources, which Node.js 24 understands by itself.
 */
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'

const [command, ...rest] = process.argv.slice(2)
if (command === 'up' || command === 'doctor') {
  const up = fileURLToPath(new URL('../../../bin/up', import.meta.url))
  // In place of this process, so that signals reach it.
  process.execve(up, [up, ...(command === 'doctor' ? ['--doctor'] : []), ...rest], process.env)
}

// Keeps what Node.js compiled, which halves the start. Node.js 20 lacks it.
module.enableCompileCache?.()
await import('../src/main.ts')
