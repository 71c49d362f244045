import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { closeFrame, WebSocketFrames } from '@offshoot/kit/web-socket-frames'

/** Milliseconds without a byte within which a caller must read the rest and close its side. */
const END_MS = 30_000
/** Milliseconds for the agent to receive what the caller sent before it disconnected. */
const LAST_WORDS_MS = 500
/** Close code "service restart" (IANA registry of RFC 6455), which asks the client to reconnect. */
const SERVICE_RESTART = 1012

interface End<Stream extends Duplex> {
  readonly socket: Stream
  /** Bytes that were already read from the socket. */
  readonly head: Buffer
}

interface Joined {
  /** Closes the caller's side gracefully and destroys the agent's. */
  end(reason: string): void
}

/**
 * Joins two upgraded connections. Bytes pass unchanged. If the agent's side ends without a close frame, control sends
 * the caller one, provided that the last frame was complete.
 */
export function joinSockets(caller: End<Socket>, agent: End<Duplex>): Joined {
  const frames = new WebSocketFrames()
  let isEnding = false
  const end = (reason: string) => {
    if (isEnding) return
    isEnding = true
    // Unpipe first: otherwise the pipe would stop reading from the caller, and its close frame would never be read.
    caller.socket.unpipe(agent.socket)
    agent.socket.destroy()
    const mayClose = !frames.hasClosed && frames.isWhole
    caller.socket.end(mayClose ? closeFrame(SERVICE_RESTART, reason) : Buffer.alloc(0))
    caller.socket.setTimeout(END_MS, () => caller.socket.destroy())
    caller.socket.resume()
  }
  caller.socket.unshift(caller.head)
  agent.socket.unshift(agent.head)
  agent.socket.on('error', () => end('agent unreachable'))
  agent.socket.on('end', () => end('agent unreachable'))
  agent.socket.on('close', () => end('agent unreachable'))
  agent.socket.on('data', (chunk: Buffer) => frames.push(chunk))
  // WebSocket has no half-open connections.
  caller.socket.on('end', () => caller.socket.end())
  caller.socket.on('close', () => {
    isEnding = true
    agent.socket.end()
    // The agent gets a moment to read the caller's last bytes, then its socket is destroyed.
    setTimeout(() => agent.socket.destroy(), LAST_WORDS_MS).unref()
  })
  agent.socket.pipe(caller.socket, { end: false })
  caller.socket.pipe(agent.socket)
  return { end }
}
