import type { Fork } from '@offshoot/contract/fork'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { post } from './fork-benches.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { get } from './preview-benches.ts'
import { inSandbox } from './sandbox-benches.ts'

export const PORT = 3000
const HELD_MIB = 300
const CLIENTS = 2
const START_MS = 120_000
/** A server in Node that holds memory, and changes a few pages of it for each request. */
const APP = `
const held = Buffer.alloc(${HELD_MIB} * 1024 * 1024, 1)
let at = 0
require('http').createServer((request, response) => {
  for (let i = 0; i < 16; i++) held[at = (at + 4096) % held.length] ^= 1
  response.end('ok')
}).listen(${PORT})
`

/** Starts the app, and waits for its first answer. */
export async function startApp(offshoot: Offshoot, id: string): Promise<void> {
  await offshoot.request('PUT', `/v1/sandboxes/${id}/fs?path=/root/app.js`, { body: APP })
  const started = { cmd: 'node /root/app.js', background: true }
  await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: started })
  await until('the app', async () => get(offshoot, id, '/', PORT).catch(() => null), START_MS)
}

/** Does the work while clients send one request after the other. */
export async function underLoad(request: () => Promise<unknown>, work: () => Promise<void>): Promise<void> {
  const over = new AbortController()
  const asking = Array.from({ length: CLIENTS }, async () => {
    while (!over.signal.aborted) await request()
  })
  try {
    await work()
  } finally {
    over.abort()
    await Promise.all(asking)
  }
}

/**
 * An app that holds 300 MiB and is asked all the time is forked: from the POST to the first answer of the child. Floor: its next
 * answer. Also the requests to the parent meanwhile.
 */
export async function forkApp(
  offshoot: Offshoot,
  n = 20,
): Promise<{ fork_app_300mib: Figure; fork_app_300mib_request: Figure }> {
  const [first, next, answers] = [new Samples(), new Samples(), new Samples()]
  await inSandbox(offshoot, async (id) => {
    await startApp(offshoot, id)
    await underLoad(
      async () => answers.time(async () => get(offshoot, id, '/', PORT)),
      async () => {
        for (const _round of rounds(n, 60_000)) {
          const child = await first.time(async () => {
            const forked = await post<Fork>(offshoot, `/v1/sandboxes/${id}/fork`, 201)
            await get(offshoot, forked.id, '/', PORT)
            return forked
          })
          if (child === null) continue
          await next.time(async () => get(offshoot, child.id, '/', PORT))
          await offshoot.delete(child.id)
        }
      },
    )
  })
  return { fork_app_300mib: first.figure('ms', next.p50), fork_app_300mib_request: answers.figure('ms') }
}
