import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'

const RETRY_MS = 2
/** All sockets share it: Node fills it just before it calls a reader, and not again before that reader returns. */
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024)

/** Receives the bytes of the socket. They are valid only during the call. */
export interface SocketReader {
  onBytes(bytes: Uint8Array): void
}

/**
 * Connects as soon as a server listens at `path`. QEMU makes the socket shortly after it starts.
 *
 * @throws DeadlineExceeded, or an error of the socket other than ENOENT and ECONNREFUSED
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
    // Readers copy what they keep of a frame, so the buffer can be reused.
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
  // After a deadline has ended the wait, an error would have no other listener.
  socket.on('error', () => {})
  return promise
}

function isNotThereYet(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return code === 'ENOENT' || code === 'ECONNREFUSED'
}
