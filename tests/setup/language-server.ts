import { Duplex, type Readable } from 'node:stream'
import type { Offshoot } from './offshoot.ts'
import { LanguageClient } from './language-client.ts'
import { TestSocket } from './web-socket.ts'

/** The bytes of a language server on a WebSocket, as a program's standard streams have them. */
class SocketStream extends Duplex {
  readonly #socket: TestSocket

  constructor(socket: TestSocket) {
    super()
    this.#socket = socket
    socket.socket.on('message', (data, isBinary) => {
      if (isBinary) this.push(data)
    })
    socket.socket.on('close', () => this.push(null))
  }

  override _read(): void {
    // Everything is pushed as it comes: tests are never behind for long.
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.socket.send(bytes, done)
  }
}

export interface OpenServer {
  readonly socket: TestSocket
  readonly client: LanguageClient
}

/** Opens a session in the base protocol, in binary frames. */
export async function openLanguageServer(offshoot: Offshoot, id: string, language: string): Promise<OpenServer> {
  const socket = await TestSocket.open(offshoot, `/v1/sandboxes/${id}/lsp/${language}`)
  const stream: Duplex & Readable = new SocketStream(socket)
  return { socket, client: new LanguageClient(stream, stream) }
}
