import { terminalFrame } from '@offshoot/contract/terminal'
import type { AcceptedSocket } from './accept-web-socket.ts'
import { notRunningReason } from '../../sandbox/model/guest-access.ts'
import type { Sandbox } from '../../sandbox/model/sandbox.ts'
import { exitCodeOf } from '../../sandbox/commands/streamed-command.ts'
import type { Terminal } from '../../sandbox/terminals/terminal.ts'

const NORMAL = 1000

/**
 * One terminal on one WebSocket: binary frames carry terminal bytes in both directions, text frames carry control messages.
 * Resolves when the program has exited or the caller has disconnected. An invalid text frame gets an error frame, and the
 * terminal stays open.
 */
export async function serveTerminal(sandbox: Sandbox, terminal: Terminal, socket: AcceptedSocket): Promise<void> {
  terminal.input.on('error', () => undefined)
  socket.listen({
    onMessage: (data, isBinary) => {
      if (isBinary) type(terminal, socket, data)
      else instruct(terminal, socket, data)
    },
    onDrain: () => terminal.output.resume(),
  })
  const shown = Promise.withResolvers<void>()
  terminal.output.on('data', (chunk: unknown) => {
    socket.sendBytes(terminal.bytesOf(chunk))
    if (socket.isFull) terminal.output.pause()
  })
  terminal.output.once('close', shown.resolve)
  const ended = endOf(sandbox, terminal, shown.promise)
  const last = await Promise.race([ended, socket.closed])
  if (last !== undefined) {
    socket.sendJson(last)
    socket.close(NORMAL)
  }
  terminal.leave()
}

/** The final frame: the exit code, or why there is none. */
async function endOf(
  sandbox: Sandbox,
  { exited }: Terminal,
  shown: Promise<void>,
): Promise<{ exit: number } | { error: string }> {
  try {
    const exit = await exited
    await shown
    return exit === undefined ? { error: 'the session was left' } : { exit: exitCodeOf(exit) }
  } catch {
    return { error: notRunningReason(sandbox) }
  }
}

function type({ input }: Terminal, socket: AcceptedSocket, data: Buffer | string): void {
  const bytes = Buffer.byteLength(data)
  socket.addPendingInput(bytes)
  input.write(data, () => socket.removePendingInput(bytes))
}

function instruct(terminal: Terminal, socket: AcceptedSocket, data: Buffer): void {
  try {
    const frame = terminalFrame.safeParse(JSON.parse(data.toString()), { error: () => 'bad json: not an object' })
    if (!frame.success) {
      socket.sendJson({ error: frame.error.issues[0]?.message ?? 'invalid frame' })
      return
    }
    const { resize, stdin } = frame.data
    if (resize !== undefined) terminal.resize(resize)
    if (stdin !== undefined) type(terminal, socket, stdin)
  } catch (error) {
    socket.sendJson({ error: `bad json: ${(error as Error).message}` })
  }
}
