import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { closeFrame, WebSocketFrames } from '@offshoot/kit/web-socket-frames'

/** Milliseconds without a byte that a caller has to take the last of it, and to close its side. */
const END_MS = 30_000
/** Milliseconds that an agent has to take what a caller said before it went. */
const LAST_WORDS_MS = 500
/** Close code "service restart" (IANA registry of RFC 6455): connect again. */
const SERVICE_RESTART = 1012

interface End<Stream extends Duplex> {
  readonly socket: Stream
  /** What has already been read from it. */
  readonly head: Buffer
}

interface Joined {
  /** Says goodbye to the caller and lets go of the agent. */
  end(reason: string): void
}

/**
 * Makes two upgraded connections one. Bytes pass untouched; when the agent's end goes without a close frame, the caller
 * still gets one, if the last frame that it got is whole.
 */
export function joinSockets(caller: End<Socket>, agent: End<Duplex>): Joined {
  const frames = new WebSocketFrames()
  let isEnding = false
  const end = (reason: string) => {
    if (isEnding) return
    isEnding = true
    // By hand: a pipe that loses its target would stop the reading, and so the caller's goodbye.
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
  // WebSocket knows no connection that is open one way only.
  caller.socket.on('end', () => caller.socket.end())
  caller.socket.on('close', () => {
    isEnding = true
    agent.socket.end()
    // Unless it takes the caller's last words at once, it hears of the end the hard way.
    setTimeout(() => agent.socket.destroy(), LAST_WORDS_MS).unref()
  })
  agent.socket.pipe(caller.socket, { end: false })
  caller.socket.pipe(agent.socket)
  return { end }
}
