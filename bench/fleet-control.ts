/**
 * `fleet-control.ts CONFIG`: a control process. Each of its answers to a create says in `Server-Timing` how many
 * milliseconds passed from the arrival of the request until the chosen host was asked. It sends a message to its parent
 * when it listens.
 */
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { controlConfig } from '@offshoot/contract/process-config'
import { startControl } from '@offshoot/control/control'
import { AgentClient } from '@offshoot/control/fleet/agent-client'
import { createServer } from '@offshoot/control/server'
import { pino } from 'pino'

const config = controlConfig.parse(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')))
const control = await startControl(config, pino({ level: config.log_level }, pino.destination(2)))
const app = await createServer(control)

/** The request that arrived last. The bench sends one create after the other. */
let last: { readonly atMs: number; readonly response: ServerResponse } | null = null
app.server.prependListener('request', ({ method }, response) => {
  if (method === 'POST') last = { atMs: performance.now(), response }
})
// It is called with its client below.
// oxlint-disable-next-line typescript/unbound-method
const { create } = AgentClient.prototype
AgentClient.prototype.create = function createWithTiming(...args) {
  if (last !== null) last.response.setHeader('server-timing', `place;dur=${performance.now() - last.atMs}`)
  return create.apply(this, args)
}

let isEnding = false
/** The parent's signal and its end may both arrive. */
async function end(): Promise<void> {
  if (isEnding) return
  isEnding = true
  app.server.closeAllConnections()
  await app.close()
  await control.stop()
  process.exit()
}

process.once('SIGTERM', () => void end())
process.once('disconnect', () => void end())
await app.listen(config.listen)
process.send?.('listening')
