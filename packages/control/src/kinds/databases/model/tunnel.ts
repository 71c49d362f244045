import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { DATABASE_PORT } from '@offshoot/contract/database'
import { ApiError, type ErrorName, errorNames, registeredError } from '@offshoot/contract/errors'
import type { Fleet } from '../../../fleet/fleet.ts'
import { agentOfDatabase } from './agent-of-database.ts'
import type { DatabaseRow } from './database-row.ts'
import { MAX_REFUSAL_BYTES, readBeginning } from '../../../platform/http/bounded-body.ts'

/** The database to connect to. */
export type Reached = Pick<DatabaseRow, 'id' | 'workspace_id' | 'agent_id'>

/**
 * Bytes that a server may send without a new request. Tenants control their servers, and control keeps these bytes in
 * memory.
 */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/**
 * A connection to the server of a database, in the form of the sockets that the driver expects: created first,
 * connected later. Wakes the sandbox.
 */
export class Tunnel extends Duplex {
  readonly #fleet: Fleet
  readonly #to: Reached
  #inner: Duplex | undefined
  #answerBytes = 0

  constructor(fleet: Fleet, to: Reached) {
    super({ allowHalfOpen: false })
    this.#fleet = fleet
    this.#to = to
  }

  /** Emits `connect`, or destroys the stream with an ApiError. Ignores the driver's host and port. */
  connect(): this {
    this.#dial().then(
      (inner) => this.#join(inner),
      (error: Error) => this.destroy(error),
    )
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  override _read(): void {
    this.#inner?.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#answerBytes = 0
    if (this.#inner === undefined) done(new Error('not connected'))
    else if (this.#inner.write(chunk)) done()
    else this.#inner.once('drain', () => done())
  }

  override _final(done: () => void): void {
    if (this.#inner === undefined) done()
    else this.#inner.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#inner?.destroy()
    done(error)
  }

  #join(inner: Duplex): void {
    if (this.destroyed) return void inner.destroy()
    this.#inner = inner
    inner.on('data', (chunk: Buffer) => {
      this.#answerBytes += chunk.length
      if (this.#answerBytes > MAX_ANSWER_BYTES)
        this.destroy(new ApiError('invalidField', { error: 'the answer is too large' }))
      else if (!this.push(chunk)) inner.pause()
    })
    inner.once('end', () => this.push(null))
    inner.once('error', (error) => this.destroy(error))
    inner.once('close', () => this.destroy())
    this.emit('connect')
  }

  async #dial(): Promise<Duplex> {
    const { id, workspace_id: workspaceId } = this.#to
    const agent = agentOfDatabase(this.#fleet, this.#to)
    const answer = await agent.upgrade({
      path: `/v1/sandboxes/${id}/ports/${DATABASE_PORT}/stream`,
      workspaceId,
      requestId: id,
      headers: { connection: 'Upgrade', upgrade: PORT_STREAM_PROTOCOL },
      signal: new AbortController().signal,
    })
    if (answer.kind === 'refused') throw await refusalOf(answer.response)
    if (answer.head.length > 0) answer.socket.unshift(answer.head)
    return answer.socket
  }
}

/** The agent's error, if it is one that the API defines. */
async function refusalOf(response: IncomingMessage): Promise<ApiError> {
  const { error = '', detail } = parse((await readBeginning(response, MAX_REFUSAL_BYTES)).toString())
  const known = errorNames.find((name) => {
    const each = registeredError(name)
    return each.status === response.statusCode && each.error === error
  })
  const fallback: ErrorName = response.statusCode === 507 ? 'insufficientMemory' : 'agentUnreachable'
  return new ApiError(known ?? fallback, detail === undefined ? {} : { detail })
}

function parse(body: string): { error?: string; detail?: string } {
  try {
    return JSON.parse(body) as { error?: string; detail?: string }
  } catch {
    return {}
  }
}
