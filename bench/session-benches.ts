import { once } from 'node:events'
import { type EventStream, openEvents } from '../tests/setup/event-stream.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { TestSocket } from '../tests/setup/web-socket.ts'
import { memory, residentMib, single } from './event-benches.ts'
import type { Figure } from './measure.ts'
import { inSandbox } from './sandbox-benches.ts'

const STREAMS = 200
const TERMINALS = 50

/**
 * The cost of 200 streamed commands and 50 terminals in one sandbox. One is served if it gets its own output and its
 * end.
 */
export async function sessions(offshoot: Offshoot): Promise<Record<string, Figure>> {
  return inSandbox(offshoot, async (id, pid) => {
    const read = async () => ({ ...(await memory(offshoot)), qemu: await residentMib(pid) })
    await offshoot.exec(id, 'true')
    const before = await read()
    const streams = await Promise.all(Array.from({ length: STREAMS }, async (_, i) => openCommand(offshoot, id, i)))
    const terminals = await Promise.all(
      Array.from({ length: TERMINALS }, async (_, i) => openTerminal(offshoot, id, i)),
    )
    const after = await read()
    const ends = [...streams.map(isServed), ...terminals.map(isTerminalServed)]
    await offshoot.exec(id, 'pkill -x sleep')
    const served = (await Promise.all(ends)).filter(Boolean).length / (STREAMS + TERMINALS)
    const figure = (of: 'control' | 'agent' | 'qemu') =>
      single('MiB', after[of] - before[of], STREAMS + TERMINALS, served)
    return {
      sessions_control_mib: figure('control'),
      sessions_agent_mib: figure('agent'),
      sessions_qemu_mib: figure('qemu'),
    }
  })
}

const command = (i: number) => `echo "at work ${i}"; exec sleep 1000`
const EXIT_BY_SIGTERM = 143

async function openCommand(offshoot: Offshoot, id: string, i: number): Promise<EventStream> {
  const stream = await openEvents(offshoot, 'POST', `/v1/sandboxes/${id}/exec/stream`, { body: { cmd: command(i) } })
  const { value } = await stream.next()
  if (value?.data.chunk !== `at work ${i}\n`) throw new Error(`stream ${i} began with ${JSON.stringify(value)}`)
  return stream
}

async function isServed(stream: EventStream): Promise<boolean> {
  return (await stream.rest()).at(-1)?.data.exit_code === EXIT_BY_SIGTERM
}

async function openTerminal(offshoot: Offshoot, id: string, i: number): Promise<TestSocket> {
  const socket = await TestSocket.open(offshoot, `/v1/sandboxes/${id}/exec/pty?cmd=${encodeURIComponent(command(i))}`)
  await socket.shows(`at work ${i}\r\n`)
  return socket
}

async function isTerminalServed(terminal: TestSocket): Promise<boolean> {
  if (terminal.closed === undefined) await once(terminal.socket, 'close')
  return terminal.frames.at(-1)?.exit === EXIT_BY_SIGTERM
}
