import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { WebSocket } from 'ws'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { BaselineVm } from './baseline-vm.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { inSandbox, recipeOf } from './sandbox-benches.ts'

/** Milliseconds between two keys, long enough for the guest to become idle. */
const BETWEEN_KEYS_MS = 20
const ECHO_MS = 5000

/** From a key in a terminal to its echo by the guest's kernel. Floor: a message to a baseline guest and back. */
export async function terminalEcho(offshoot: Offshoot, n = 300): Promise<Record<string, Figure>> {
  const baseline = await BaselineVm.running(await recipeOf(offshoot))
  const [echo, ping] = [new Samples(), new Samples()]
  try {
    await inSandbox(offshoot, async (id) => {
      const socket = await openTerminal(offshoot, id, 'echo ready; exec cat')
      for (const _ of rounds(n)) {
        await echo.time(async () => typeKey(socket))
        await delay(BETWEEN_KEYS_MS)
        await ping.time(async () => baseline.link.ping(Deadline.after(ECHO_MS, 'floor of an echo')))
        await delay(BETWEEN_KEYS_MS)
      }
      socket.close()
      await once(socket, 'close')
    })
  } finally {
    await baseline.kill()
  }
  return { pty_echo: echo.figure('ms', ping.p50) }
}

async function openTerminal({ credentials }: Offshoot, id: string, cmd: string): Promise<WebSocket> {
  const url = `${credentials.base_url.replace('http', 'ws')}/v1/sandboxes/${id}/exec/pty?cmd=${encodeURIComponent(cmd)}`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${credentials.api_key}` } })
  await once(socket, 'message', { signal: AbortSignal.timeout(ECHO_MS) })
  return socket
}

async function typeKey(socket: WebSocket): Promise<void> {
  const shown = once(socket, 'message', { signal: AbortSignal.timeout(ECHO_MS) })
  socket.send(Buffer.from('k'))
  await shown
}
