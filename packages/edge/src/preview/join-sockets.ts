import type { Socket } from 'node:net'

/** Milliseconds of silence after which TCP asks whether the other side is still there. */
const KEEP_ALIVE_MS = 30_000
/** Milliseconds that one side has to take the last bytes of the other. */
const LAST_WORDS_MS = 30_000

/** Makes two connections one: bytes untouched, each direction ended by itself, a break passed on as one. */
export function joinSockets(one: Socket, other: Socket): void {
  for (const socket of [one, other]) {
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.setNoDelay(true)
  }
  one.pipe(other)
  other.pipe(one)
  watch(one, other)
  watch(other, one)
}

function watch(socket: Socket, partner: Socket): void {
  socket.once('error', () => partner.destroy())
  socket.once('close', () => {
    if (partner.destroyed) return
    if (!socket.readableEnded) partner.destroy()
    else setTimeout(() => partner.destroy(), LAST_WORDS_MS).unref()
  })
}
