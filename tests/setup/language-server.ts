import { Duplex, type Readable } from 'node:stream'
import type { Offshoot } from './offshoot.ts'
import { LanguageClient } from './language-client.ts'
import { TestSocket } from './web-socket.ts'

/** A language server's standard streams over a WebSocket. */
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
    // Nothing to do: data is pushed as it arrives, because tests read fast enough.
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.socket.send(bytes, done)
  }
}

export interface OpenServer {
  readonly socket: TestSocket
  readonly client: LanguageClient
}

/** Opens a session with base-protocol framing, in binary frames. */
export async function openLanguageServer(offshoot: Offshoot, id: string, language: string): Promise<OpenServer> {
  const socket = await TestSocket.open(offshoot, `/v1/sandboxes/${id}/lsp/${language}`)
  const stream: Duplex & Readable = new SocketStream(socket)
  return { socket, client: new LanguageClient(stream, stream) }
}
