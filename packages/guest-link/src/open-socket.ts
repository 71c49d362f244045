import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'

const RETRY_MS = 2
/** Of all sockets, one after the other: each fills it just before its reader is called, and not again before that returns. */
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024)

/** Whoever reads the socket. The bytes are only valid during the call. */
export interface SocketReader {
  onBytes(bytes: Uint8Array): void
}

/**
 * Connects as soon as somebody listens at `path`: QEMU makes the socket shortly after it was started.
 *
 * @throws DeadlineExceeded, or the socket's error when it is another than "not there yet"
 */
export async function openSocket(path: string, reader: SocketReader, deadline: Deadline): Promise<Socket> {
  for (;;) {
    deadline.throwIfOver()
    const socket = connectOnce(path, reader)
    try {
      await deadline.race(connected(socket))
      return socket
    } catch (error) {
      socket.destroy()
      if (!isNotThereYet(error)) throw error
    }
    await wait(RETRY_MS)
  }
}

function connectOnce(path: string, reader: SocketReader): Socket {
  return connect({
    path,
    // What is kept of a frame is copied out of it.
    onread: {
      buffer: readBuffer,
      callback: (count) => {
        reader.onBytes(readBuffer.subarray(0, count))
        return true
      },
    },
  })
}

function connected(socket: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('connect', resolve)
  socket.once('error', reject)
  // A deadline may have ended the wait; the error then has no other listener.
  socket.on('error', () => {})
  return promise
}

function isNotThereYet(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return code === 'ENOENT' || code === 'ECONNREFUSED'
}
