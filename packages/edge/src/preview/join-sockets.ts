import type { Socket } from 'node:net'
import { resetConnection } from '@offshoot/kit/mutual-tls'
import { closeFrame, WebSocketFrames } from '@offshoot/kit/web-socket-frames'

/** Milliseconds of silence before TCP keepalive probes. */
const KEEP_ALIVE_MS = 30_000
/** Milliseconds for one side to receive the last bytes of the other. */
const LAST_WORDS_MS = 30_000

/** Milliseconds for the server to complete a frame, and for the visitor to close its side. */
const GOODBYE_MS = 5_000
/** Why the edge closes a WebSocket: a code of the IANA registry of RFC 6455, and a text. */
export interface Goodbye {
  readonly code: number
  readonly reason: string
}
/** "Service restart", after which clients reconnect. */
export const REPLACED: Goodbye = { code: 1012, reason: 'another version serves now' }
/** "Policy violation". */
export const NO_LONGER_ADMITTED: Goodbye = { code: 1008, reason: 'access to this preview has ended' }

/**
 * Joins two connections: bytes pass unchanged, each direction can end alone, and a reset is passed on as a reset.
 * @returns a function that closes both with a WebSocket close frame, at the server's next frame boundary
 */
export function joinSockets(visitor: Socket, server: Socket): (why: Goodbye) => void {
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
  return (why) => sayGoodbye(visitor, server, frames, why)
}

function sayGoodbye(visitor: Socket, server: Socket, frames: WebSocketFrames, { code, reason }: Goodbye): void {
  const timer = setTimeout(() => visitor.destroy(), GOODBYE_MS).unref()
  visitor.once('close', () => {
    clearTimeout(timer)
    // A plain end would leave a server that never ends its own half.
    resetConnection(server)
  })
  const close = () => {
    server.unpipe(visitor)
    visitor.unpipe(server)
    server.pause()
    visitor.end(frames.hasClosed ? Buffer.alloc(0) : closeFrame(code, reason))
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
