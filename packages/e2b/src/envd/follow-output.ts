import type { Readable } from 'node:stream'
import { type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import { z } from 'zod'
import { ControlRefused } from '../control/control-failure.ts'
import type { ProcessEventSchema } from '../generated/process/process_pb.js'
import type { EnvdCall } from './call.ts'
import { withKeepalives } from './keepalive.ts'
import { SandboxEnded } from './sandbox-ended.ts'

type ProcessEvent = MessageInitShape<typeof ProcessEventSchema>

const payload = z.object({
  chunk: z.string().default(''),
  pid: z.int().optional(),
  exit_code: z.int().optional(),
  error: z.string().optional(),
})

const KEEPALIVE: ProcessEvent = { event: { case: 'keepalive', value: {} } }

export interface Followed {
  readonly pid: number
  /** Of the first byte. */
  readonly offset: number
  readonly isPty: boolean
}

/**
 * Starts a process: its start, its output, and its end.
 *
 * @param json body of `POST exec/stream` for a background command
 * @throws {SandboxEnded} if the sandbox ends first
 */
export async function* startProcess(
  call: EnvdCall,
  json: object,
  isPty: boolean,
  context: HandlerContext,
): AsyncGenerator<ProcessEvent> {
  const request = call.request('POST', '/exec/stream', { json, signal: context.signal })
  yield* eventsUntilEnd(await call.control.open(request), isPty, context)
}

/**
 * The start of a process that runs, its output from an offset on, and its end.
 *
 * @throws {SandboxEnded} if the sandbox ends first
 */
export async function* followOutput(
  call: EnvdCall,
  { pid, offset, isPty }: Followed,
  context: HandlerContext,
): AsyncGenerator<ProcessEvent> {
  yield startOf(pid)
  const query = { encoding: 'base64', offset }
  const request = call.request('GET', `/execs/${pid}/stream`, { query, signal: context.signal })
  yield* eventsUntilEnd(await opened(call.control.open(request)), isPty, context)
}

async function* eventsUntilEnd({ body }: { body: Readable }, isPty: boolean, context: HandlerContext) {
  try {
    yield* withKeepalives(eventsOf(body, isPty), context, KEEPALIVE)
  } finally {
    body.destroy()
  }
}

function startOf(pid: number): ProcessEvent {
  return { event: { case: 'start', value: { pid } } }
}

/** A sandbox that is gone has ended since the process was found. */
async function opened<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const isGone = error instanceof ControlRefused && [401, 404, 409].includes(error.status)
    throw isGone ? new SandboxEnded(error.message) : error
  }
}

async function* eventsOf(body: AsyncIterable<Uint8Array>, isPty: boolean): AsyncGenerator<ProcessEvent> {
  try {
    for await (const batch of readServerSentEvents(body)) {
      for (const { event, data } of batch) {
        const { chunk, pid, exit_code: exitCode = -1, error } = payload.parse(JSON.parse(data))
        if (event === 'started' && pid !== undefined) yield startOf(pid)
        if (event === 'stdout' || event === 'stderr') yield written(event, chunk, isPty)
        if (event === 'error') throw new SandboxEnded(error)
        if (event !== 'exit') continue
        yield ended(exitCode)
        return
      }
    }
  } catch (error) {
    throw error instanceof SandboxEnded ? error : new SandboxEnded(undefined, error)
  }
  throw new SandboxEnded()
}

function written(stream: 'stdout' | 'stderr', chunk: string, isPty: boolean): ProcessEvent {
  const value = Buffer.from(chunk, 'base64')
  return { event: { case: 'data', value: { output: { case: isPty ? 'pty' : stream, value } } } }
}

function ended(exitCode: number): ProcessEvent {
  const status = `exit status ${exitCode}`
  return {
    event: { case: 'end', value: { exitCode, exited: true, status, ...(exitCode !== 0 && { error: status }) } },
  }
}
