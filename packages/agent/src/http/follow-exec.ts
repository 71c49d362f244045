import { followQuery } from '@offshoot/contract/background-exec'
import type { Encoding } from '@offshoot/contract/encoding'
import { ApiError } from '@offshoot/contract/errors'
import type { GuestAttachment } from '@offshoot/guest-link/guest-attachment'
import { GuestRequestError } from '@offshoot/guest-link/guest-link-error'
import type { LogChunk } from '@offshoot/guest-link/log-output'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import { attachBackground, findBackground, leave } from '../sandbox/commands/background.ts'
import { notRunningReason } from '../sandbox/model/guest-access.ts'
import { exitCodeOf } from '../sandbox/commands/streamed-command.ts'
import type { Sandbox } from '../sandbox/model/sandbox.ts'
import { chunkEncoder, type ChunkEncoder } from '../sandbox/commands/chunk-encoder.ts'
import { ownSandbox } from './request/require-credential.ts'
import { parseBody } from './request/parse-body.ts'
import { PushedEvents } from './streams/push-events.ts'

/**
 * `GET /v1/sandboxes/{id}/execs/{exec_id}/stream`: the output of a background command from an offset, then live, until the
 * command exits. `id:` is the offset at which a reconnecting client resumes. A slow reader never slows the command down:
 * a `gap` event tells it which bytes it missed.
 */
export function followExec(server: FastifyInstance, { host, stopping }: Agent): void {
  const options = { exposeHeadRoute: false }
  server.get('/v1/sandboxes/:id/execs/:execId/stream', options, async (request, reply) => {
    const sandbox = ownSandbox(host.sandboxes, request)
    if (sandbox === null) throw new ApiError('sandboxNotFound')
    const { execId } = request.params as { execId: string }
    const { offset: from = 0, encoding } = readQuery(request)
    const exec = await findBackground(sandbox, execId)
    const attachment = await attachBackground(sandbox, exec.exec_id, from)
    await deliver(new PushedEvents(reply), attachment, { sandbox, execId: exec.exec_id, from, encoding, stopping })
    return reply
  })
}

interface Followed {
  readonly sandbox: Sandbox
  readonly execId: string
  /** Offset of the first byte that the caller wants. */
  readonly from: number
  readonly encoding: Encoding | undefined
  /** Aborts when the agent stops. */
  readonly stopping: AbortSignal
}

/** Writes the output of a background command, and its end, into a stream. */
export async function deliver(stream: PushedEvents, attachment: GuestAttachment, followed: Followed): Promise<void> {
  const { sandbox, execId, from, encoding, stopping } = followed
  const hangUp = () => leave(attachment)
  void stream.closed.then(hangUp)
  stopping.addEventListener('abort', hangUp, { once: true })
  new Delivery(stream, attachment, from, encoding).start()
  await writeEnd(stream, attachment, sandbox, execId)
  stopping.removeEventListener('abort', hangUp)
  stream.end()
}

function readQuery({ headers, query }: FastifyRequest) {
  const last = headers['last-event-id']
  return parseBody(followQuery, last === undefined || last === '' ? query : { ...(query as object), offset: last })
}

class Delivery {
  readonly #stream: PushedEvents
  readonly #attachment: GuestAttachment
  readonly #text: Readonly<Record<'stdout' | 'stderr', ChunkEncoder>>
  readonly #from: number
  #next: number

  constructor(stream: PushedEvents, attachment: GuestAttachment, from: number, encoding: Encoding | undefined) {
    this.#text = { stdout: chunkEncoder(encoding), stderr: chunkEncoder(encoding) }
    this.#stream = stream
    this.#attachment = attachment
    this.#from = from
    this.#next = Math.min(from, attachment.offset)
  }

  start(): void {
    const { output } = this.#attachment
    this.#stream.onDrain(() => output.resume())
    output.on('data', (chunk: LogChunk) => {
      this.#skip(chunk.offset)
      this.#next = chunk.offset + chunk.bytes.length
      // A client may ask for an offset that the output has not reached yet.
      const wanted = chunk.bytes.subarray(Math.max(0, this.#from - chunk.offset))
      this.#write(chunk.stream, this.#text[chunk.stream].push(wanted))
      if (this.#stream.isFull) output.pause()
    })
    output.once('end', () => {
      for (const name of ['stdout', 'stderr'] as const) this.#write(name, this.#text[name].end())
    })
  }

  /** Reports bytes that the guest dropped from its buffer before this reader got them. */
  #skip(offset: number): void {
    if (offset > this.#next) this.#stream.write('gap', { from: this.#next, to: offset }, offset)
  }

  /** The id excludes the bytes of an incomplete character, so that a client that resumes there gets them again. */
  #write(name: 'stdout' | 'stderr', chunk: string): void {
    if (chunk === '') return
    const heldBytes = this.#text.stdout.heldBytes + this.#text.stderr.heldBytes
    this.#stream.write(name, { chunk }, this.#next - heldBytes)
  }
}

async function writeEnd(
  stream: PushedEvents,
  { exited, output }: GuestAttachment,
  sandbox: Sandbox,
  execId: string,
): Promise<void> {
  try {
    const exit = await exited
    if (exit === undefined) return
    if (!output.readableEnded && !output.destroyed) await new Promise((resolve) => output.once('close', resolve))
    const { started_at, ended_at } = await findBackground(sandbox, execId)
    const durationMs = Date.parse(ended_at ?? started_at) - Date.parse(started_at)
    stream.write('exit', { exit_code: exitCodeOf(exit), duration_ms: durationMs })
  } catch (error) {
    const isRemoved = error instanceof GuestRequestError || error instanceof ApiError
    stream.write('error', { error: isRemoved ? 'the command was deleted' : notRunningReason(sandbox) })
  }
}
