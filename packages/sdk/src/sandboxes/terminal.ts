import { ConnectionError, OffshootError } from '../http/errors.ts'
import type { Scope } from '../http/scope.ts'
import type { WebSocketConstructor, WebSocketLike } from '../http/transport.ts'
import type { TerminalSize } from './commands.ts'

export interface TerminalOptions extends Partial<TerminalSize> {
  /** Runs under `sh -c`. Default: a login shell. */
  readonly command?: string | undefined
  /** Name or numeric id. Default: `root`. */
  readonly user?: string | undefined
  /** Absolute path. Default: the home of the user. */
  readonly cwd?: string | undefined
  /** Name of a terminal that outlives the connection. The next caller with the name gets the same terminal. */
  readonly session?: string | undefined
  /** Closes the terminal. */
  readonly signal?: AbortSignal | undefined
}

/** A terminal in a sandbox. Iterate over it for its output. */
export class Terminal implements AsyncIterable<Uint8Array<ArrayBuffer>> {
  /** Exit code of the program; `null` if the connection ended before, or the session goes on. */
  readonly exit: Promise<number | null>
  readonly #socket: WebSocketLike
  readonly #output: Uint8Array<ArrayBuffer>[] = []
  #isClosed = false
  #wake: () => void = () => undefined

  private constructor(socket: WebSocketLike, signal: AbortSignal | undefined) {
    this.#socket = socket
    let code: number | null = null
    const onAbort = () => this.close()
    signal?.addEventListener('abort', onAbort, { once: true })
    this.exit = new Promise((resolve) => {
      socket.addEventListener('message', ({ data }: { data: ArrayBuffer | string }) => {
        if (typeof data === 'string') code = (JSON.parse(data) as { exit?: number }).exit ?? code
        else this.#output.push(new Uint8Array(data))
        this.#wake()
      })
      socket.addEventListener('close', () => {
        signal?.removeEventListener('abort', onAbort)
        this.#isClosed = true
        this.#wake()
        resolve(code)
      })
    })
  }

  /** @internal */
  static async open(scope: Scope, options: TerminalOptions): Promise<Terminal> {
    const { transport } = scope
    const { command, signal, ...query } = options
    signal?.throwIfAborted()
    const found = transport.options.WebSocket ?? (globalThis as { WebSocket?: unknown }).WebSocket
    if (found === undefined) {
      throw new OffshootError('this runtime has no WebSocket: pass that of the package "ws" as the option WebSocket')
    }
    const { path } = scope.request('GET /v1/sandboxes/{id}/exec/pty')
    const credential = (await transport.credential()) ?? undefined
    const url = transport.url(path, { ...query, cmd: command, access_token: credential })
    const socket = new (found as WebSocketConstructor)(url.replace(/^http/, 'ws'))
    socket.binaryType = 'arraybuffer'
    const terminal = new Terminal(socket, signal)
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve())
      // A browser does not say why an upgrade failed.
      const failed = () => reject(signal?.reason ?? new ConnectionError(`${path}: the terminal could not be opened`))
      socket.addEventListener('error', failed)
      socket.addEventListener('close', failed)
    })
    return terminal
  }

  /** Types. */
  write(data: string | Uint8Array<ArrayBuffer>): void {
    this.#socket.send(typeof data === 'string' ? new TextEncoder().encode(data) : data)
  }

  resize(size: TerminalSize): void {
    this.#socket.send(JSON.stringify({ resize: size }))
  }

  /** Leaves. A terminal without a `session` ends with its programs. */
  close(): void {
    this.#socket.close()
  }

  /** The same, for `using`. */
  [Symbol.dispose](): void {
    this.close()
  }

  /** Yields what the terminal shows, until its program exits or the connection ends. Only one loop gets it. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
    for (;;) {
      const next = this.#output.shift()
      if (next !== undefined) yield next
      else if (this.#isClosed) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
