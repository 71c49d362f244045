import type { Socket } from 'node:net'
import type { GuestConnection } from '@offshoot/guest-link/guest-connection'

/** Milliseconds of silence after which TCP asks whether the other host is still there. */
const KEEP_ALIVE_MS = 30_000

/**
 * Makes an upgraded connection and one inside a guest one. Each direction ends by itself and holds back its writer; what
 * breaks one side breaks the other. Both are gone when `stopping` aborts.
 */
export function joinConnection(
  { socket, head }: { readonly socket: Socket; readonly head: Buffer },
  connection: GuestConnection,
  stopping: AbortSignal,
): void {
  const { input, output, closed } = connection
  const abort = () => connection.abort()
  const breakOff = () => {
    abort()
    socket.destroy()
  }
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  if (head.length > 0) input.write(head)
  socket.pipe(input)
  output.pipe(socket)
  socket.on('error', breakOff)
  // Closed with both halves ended, or without: then the server must not wait for the rest.
  socket.once('close', abort)
  // A server that takes nothing more may still talk: what comes for it goes nowhere.
  input.on('error', () => socket.resume())
  void closed.catch(() => socket.resetAndDestroy())
  stopping.addEventListener('abort', breakOff, { once: true })
  socket.once('close', () => stopping.removeEventListener('abort', breakOff))
}
