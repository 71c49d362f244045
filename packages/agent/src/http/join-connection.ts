import type { Socket } from 'node:net'
import type { GuestConnection } from '@offshoot/guest-link/guest-connection'
import { resetConnection } from '@offshoot/kit/mutual-tls'

/** Milliseconds without data after which TCP sends a keep-alive probe to the other host. */
const KEEP_ALIVE_MS = 30_000

/**
 * Forwards bytes between an upgraded connection and a connection inside a guest. Each direction has its own half-close and
 * backpressure. An error on one side aborts the other side. Both end when `stopping` aborts.
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
  // A caller that closes without ending its half must not leave the server in the guest waiting for more input.
  socket.once('close', abort)
  // A server that closed its input may still send output: discard the caller's bytes and keep the connection.
  input.on('error', () => socket.resume())
  void closed.catch(() => resetConnection(socket))
  stopping.addEventListener('abort', breakOff, { once: true })
  socket.once('close', () => stopping.removeEventListener('abort', breakOff))
}
