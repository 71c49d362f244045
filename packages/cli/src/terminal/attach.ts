import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Cli } from '../frame/cli.ts'
import { unreachable } from '../frame/client.ts'
import { Failure } from '../frame/failure.ts'
import { failureOf, refusal } from '../frame/failure-of.ts'
import { Screen } from './screen.ts'

export interface Attachment {
  readonly sandboxId: string
  /** Name of a kept terminal. Without it, the program ends when the connection does. */
  readonly session: string | undefined
  /** Runs under `sh -c`. Default: a login shell. */
  readonly cmd: string | undefined
  readonly user: string | undefined
  readonly cwd: string | undefined
  /** The byte that leaves a kept terminal. */
  readonly detachKey: number | null
}

/** How a connection to a terminal ended. */
type End =
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'detached' }
  | { readonly kind: 'lost'; readonly error: Failure }

/** Milliseconds before the first attempt to come back to a kept terminal; doubled up to the longest. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
/** Milliseconds without a connection after which the program gives up. */
const PATIENCE_MS = 300_000
/** Milliseconds until the server must have accepted the connection; a hibernated sandbox wakes meanwhile. */
const CONNECT_MS = 60_000
/** Bytes of input that may wait for the network before the keyboard has to wait. */
const MOST_WAITING = 1024 * 1024

/**
 * Puts a terminal of a sandbox on the user's own, until its program ends or the user leaves.
 * @returns the exit code of the program, or 'detached'
 * @throws Failure if the server refuses, or a terminal without a name loses its connection
 */
export async function attach(cli: Cli, attachment: Attachment): Promise<number | 'detached'> {
  const screen = new Screen(cli)
  let lostAt: number | null = null
  let pauseMs = FIRST_PAUSE_MS
  try {
    for (;;) {
      const end = await connect(cli, attachment, screen, () => {
        lostAt = null
        pauseMs = FIRST_PAUSE_MS
      })
      if (end.kind === 'exit') return end.code
      if (end.kind === 'detached') return 'detached'
      lostAt ??= Date.now()
      if (attachment.session === undefined || Date.now() - lostAt > PATIENCE_MS) throw end.error
      await delay(pauseMs, undefined, { signal: cli.signal })
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  } finally {
    screen.end()
  }
}

async function connect(cli: Cli, to: Attachment, screen: Screen, onOpen: () => void): Promise<End> {
  const api = await cli.api()
  const { rows, cols } = screen.size
  const { session, cmd, user, cwd } = to
  const path = { id: to.sandboxId }
  const query = { rows, cols, session, cmd, user, cwd }
  const url = new URL(await api.authorizedUrl('GET /v1/sandboxes/{id}/exec/pty', { path, query }))
  url.protocol = url.protocol.replace('http', 'ws')
  // Proxies log addresses, so the credential goes into a header.
  const authorization = `Bearer ${url.searchParams.get('access_token') ?? ''}`
  url.searchParams.delete('access_token')
  const socket = new WebSocket(url, {
    headers: { authorization },
    perMessageDeflate: false,
    handshakeTimeout: CONNECT_MS,
  })
  return new Promise<End>((resolve, reject) => {
    const { stdin, stdout } = cli.streams
    const input = new Input(cli, socket, session === undefined ? null : to.detachKey, () =>
      settle({ kind: 'detached' }),
    )
    const resized = () => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify({ resize: screen.size }))
    const aborted = () => fail(cli.signal.reason)
    let ended: End | null = null
    let wasOpen = false
    let endsResize: (() => void) | null = null
    function release() {
      input.end()
      endsResize?.()
      stdout.off('drain', drained)
      cli.signal.removeEventListener('abort', aborted)
      socket.terminate()
    }
    function settle(end: End) {
      release()
      resolve(end)
    }
    function fail(error: unknown) {
      release()
      reject(error)
    }
    const drained = () => socket.resume()
    const lost = (error: unknown) =>
      settle(
        ended ?? {
          kind: 'lost',
          error: new Failure('the connection to the terminal is lost', { next: hint(to), cause: error }),
        },
      )

    cli.signal.addEventListener('abort', aborted)
    stdout.on('drain', drained)
    socket.on('open', () => {
      wasOpen = true
      onOpen()
      screen.begin()
      endsResize = screen.onResize(resized)
      input.begin()
    })
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) {
        if (!screen.write(data)) socket.pause()
        return
      }
      const frame = JSON.parse(data.toString()) as { exit?: number; error?: string }
      if (frame.exit !== undefined) ended = { kind: 'exit', code: frame.exit }
      else if (frame.error !== undefined) ended ??= { kind: 'lost', error: new Failure(frame.error) }
    })
    socket.on('close', () => lost(undefined))
    socket.on('unexpected-response', (_request, response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.on('end', () => {
        const { statusCode = 0, headers } = response
        const requestId = headers['x-request-id']
        const failure = refusal({
          status: statusCode,
          body: bodyOf(body),
          requestId: typeof requestId === 'string' ? requestId : null,
        })
        // While the services restart, a kept terminal is out of reach for some seconds.
        if (statusCode === 502 || statusCode === 503) settle({ kind: 'lost', error: failure })
        else fail(failure)
      })
    })
    socket.on('error', (error) => {
      if (wasOpen) lost(error)
      else settle({ kind: 'lost', error: failureOf(unreachable(api.baseUrl, error)) })
    })
    // Keys that the user typed before wait in the terminal.
    stdin.pause()
  })
}

function bodyOf(text: string): { error: string } {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    if (typeof error === 'string') return { error }
  } catch {
    // A proxy answered.
  }
  return { error: 'the server refused' }
}

function hint({ session, sandboxId }: Attachment): string {
  if (session === undefined) return 'its program has ended; keep the next one with --session NAME'
  return `come back with offshoot shell --session ${session} ${sandboxId}`
}

/** Passes what the user types to a socket, no faster than the network takes it. */
class Input {
  readonly #cli: Cli
  readonly #socket: WebSocket
  readonly #detachKey: number | null
  readonly #onDetach: () => void

  constructor(cli: Cli, socket: WebSocket, detachKey: number | null, onDetach: () => void) {
    this.#cli = cli
    this.#socket = socket
    this.#detachKey = detachKey
    this.#onDetach = onDetach
  }

  begin(): void {
    const { stdin } = this.#cli.streams
    stdin.on('data', this.#take)
    stdin.on('end', this.#finish)
    stdin.resume()
  }

  end(): void {
    const { stdin } = this.#cli.streams
    stdin.off('data', this.#take)
    stdin.off('end', this.#finish)
    stdin.pause()
  }

  readonly #take = (chunk: Buffer | string) => {
    const bytes = Buffer.from(chunk as string)
    const at = this.#detachKey === null ? -1 : bytes.indexOf(this.#detachKey)
    // What was typed before the key still arrives, and what follows it does not.
    const typed = at < 0 ? bytes : bytes.subarray(0, at)
    if (typed.length > 0) this.#send(typed)
    if (at >= 0) this.#onDetach()
  }

  #send(bytes: Buffer): void {
    const { stdin } = this.#cli.streams
    this.#socket.send(bytes, () => {
      if (this.#socket.bufferedAmount <= MOST_WAITING && stdin.listeners('data').includes(this.#take)) stdin.resume()
    })
    if (this.#socket.bufferedAmount > MOST_WAITING) stdin.pause()
  }

  /** The end of input that is no terminal: the program reads it as Ctrl-D. */
  readonly #finish = () => this.#socket.send(Buffer.from([4]))
}
