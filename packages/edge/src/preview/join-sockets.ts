import type { Socket } from 'node:net'
import { closeFrame, WebSocketFrames } from '@offshoot/kit/web-socket-frames'

/** Milliseconds of silence after which TCP asks whether the other side is still there. */
const KEEP_ALIVE_MS = 30_000
/** Milliseconds that one side has to take the last bytes of the other. */
const LAST_WORDS_MS = 30_000

/** Milliseconds that a server has for the rest of a frame, and a visitor to close its side. */
const GOODBYE_MS = 5_000
/** Close code "service restart" (IANA registry of RFC 6455): connect again. */
const SERVICE_RESTART = 1012

/**
 * Makes two connections one: bytes untouched, each direction ended by itself, a break passed on as one.
 * @returns what ends it with a close frame of our own, where the server's last frame is whole
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
    // An end alone would leave a server that never ends its half where it is.
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
