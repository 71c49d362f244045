import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

/** A WebSocket that records its frames, so that tests can wait for them. */
export class TestSocket {
  // Each test knows the shape that it requested.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly frames: any[] = []
  /** All binary frames, concatenated. */
  bytes = Buffer.alloc(0)
  pings = 0
  readonly socket: WebSocket
  closed: { readonly code: number; readonly reason: string } | undefined

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data, isBinary) => {
      if (isBinary) this.bytes = Buffer.concat([this.bytes, data as Buffer])
      else this.frames.push(JSON.parse((data as Buffer).toString()))
    })
    socket.on('ping', () => (this.pings += 1))
    socket.on('error', () => undefined)
    socket.on('close', (code, reason) => (this.closed = { code, reason: reason.toString() }))
  }

  /** Authenticates with a header, as programs do. */
  static async open({ credentials }: Offshoot, path: string): Promise<TestSocket> {
    const headers = { authorization: `Bearer ${credentials.api_key}` }
    const test = new TestSocket(new WebSocket(credentials.base_url.replace('http', 'ws') + path, { headers }))
    await once(test.socket, 'open')
    return test
  }

  send(value: unknown): void {
    this.socket.send(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value))
  }

  /** The output of one command from one stream. */
  output(id: string, stream = 'stdout'): string {
    return this.frames
      .filter((frame) => frame.id === id && frame.stream === stream)
      .map(({ data }) => data as string)
      .join('')
  }

  /** Waits for the frame that ends a command. */
  async end(id: string): Promise<{ exit?: number; error?: string; duration_ms?: number }> {
    return until(`the end of ${id}`, () => this.frames.find((frame) => frame.id === id && frame.stream === undefined))
  }

  async shows(what: string | RegExp): Promise<void> {
    await until(`${what} on the screen`, () => this.bytes.toString().match(what) !== null).catch((error: Error) => {
      throw new Error(`${error.message}; it ends with ${JSON.stringify(this.bytes.toString().slice(-300))}`)
    })
  }

  async close(): Promise<{ code: number; reason: string }> {
    this.socket.close()
    return this.hungUp()
  }

  /** Waits until the server has closed the socket. */
  async hungUp(): Promise<{ code: number; reason: string }> {
    return until('the socket to be closed', () => this.closed)
  }
}
