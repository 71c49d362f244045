import { Duplex } from 'node:stream'
import type { GuestConnection } from '@offshoot/guest-link/guest-connection'

/**
 * A connection to a guest as one stream, for Node's HTTP client. `Duplex.from` would fail whenever the guest closes its
 * end, because that destroys the input. Destroying the stream resets the connection.
 */
export class ConnectionStream extends Duplex {
  readonly #connection: GuestConnection

  constructor(connection: GuestConnection) {
    super()
    this.#connection = connection
    const { input, output, closed } = connection
    output.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) output.pause()
    })
    output.once('end', () => this.push(null))
    output.once('error', (error) => this.destroy(error))
    output.once('close', () => {
      if (!output.readableEnded) this.destroy(new Error('the connection to the guest was reset'))
    })
    // The guest may close its end without having read everything, and still answer.
    input.on('error', () => undefined)
    closed.catch((error: Error) => this.destroy(error))
    // The HTTP client listens only while it waits for an answer.
    this.on('error', () => undefined)
  }

  override _read(): void {
    this.#connection.output.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const { input } = this.#connection
    if (input.destroyed || input.write(chunk)) {
      done()
      return
    }
    const goOn = () => {
      input.off('drain', goOn).off('close', goOn)
      done()
    }
    input.on('drain', goOn).on('close', goOn)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#connection.input.end()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#connection.abort()
    done(error)
  }
}
