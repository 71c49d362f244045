import type { Socket } from 'node:net'
import { closeFrame, WebSocketFrames } from '@offshoot/kit/web-socket-frames'

/** Milliseconds of silence before TCP keepalive probes. */
const KEEP_ALIVE_MS = 30_000
/** Milliseconds for one side to receive the last bytes of the other. */
const LAST_WORDS_MS = 30_000

/** Milliseconds for the server to complete a frame, and for the visitor to close its side. */
const GOODBYE_MS = 5_000
/** Close code "service restart" (IANA registry of RFC 6455), after which clients reconnect. */
const SERVICE_RESTART = 1012

/**
 * Joins two connections: bytes pass unchanged, each direction can end alone, and a reset is passed on as a reset.
 * @returns a function that closes both with a WebSocket close frame, at the server's next frame boundary
 */
export function joinSockets(visitor: Socket, server: Socket): () => void {
  for (const socket of [visitor, server]) {
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.setNoDelay(true)
  }
  const frames = new WebSocketFrames()
  server.on('data', (chunk: Buffer) => frames.push(chunk))
  visitor.pipe(server)
  server.pipe(visitor)
  watch(visitor, server)
  watch(server, visitor)
  return () => sayGoodbye(visitor, server, frames)
}

function sayGoodbye(visitor: Socket, server: Socket, frames: WebSocketFrames): void {
  const timer = setTimeout(() => visitor.destroy(), GOODBYE_MS).unref()
  visitor.once('close', () => {
    clearTimeout(timer)
    // A plain end would leave a server that never ends its own half.
    server.resetAndDestroy()
  })
  const close = () => {
    server.unpipe(visitor)
    visitor.unpipe(server)
    server.pause()
    visitor.end(frames.hasClosed ? Buffer.alloc(0) : closeFrame(SERVICE_RESTART, 'another version serves now'))
    visitor.resume()
  }
  if (frames.isWhole) close()
  else server.on('data', () => frames.isWhole && !visitor.writableEnded && close())
}

function watch(socket: Socket, partner: Socket): void {
  socket.once('error', () => partner.destroy())
  socket.once('close', () => {
    if (partner.destroyed) return
    if (!socket.readableEnded) partner.destroy()
    else setTimeout(() => partner.destroy(), LAST_WORDS_MS).unref()
  })
}
