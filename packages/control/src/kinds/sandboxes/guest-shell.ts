import { backgroundExec, backgroundStarted } from '@offshoot/contract/background-exec'
import type { execBody } from '@offshoot/contract/exec'
import type { Deadline } from '@offshoot/kit/deadline'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import type { z } from 'zod'
import type { AgentClient } from '../../fleet/agent-client.ts'
import { AgentRefused, AgentUnreachable } from '../../fleet/agent-failure.ts'
import { MAX_REFUSAL_BYTES, readBeginning, readWhole } from '../../platform/http/bounded-body.ts'

/** Milliseconds until a command has started, or a request is answered. */
const ANSWER_MS = 90_000
/** Maximum bytes of a response that is no stream. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
/** Number of characters kept from the end of a command's output. */
const KEPT_CHARS = 256 * 1024

/** In the API's format. */
export type GuestCommand = z.input<typeof execBody>

export interface Ran {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

type OnOutput = (text: string, stream: 'stdout' | 'stderr') => void

interface Chunk {
  readonly chunk?: string
  readonly exit_code?: number
  readonly error?: string
}

/** What control needs to know of a background command. An agent of another version may leave out other fields. */
const backgroundState = backgroundExec.pick({ status: true, exit_code: true })
type BackgroundState = z.infer<typeof backgroundState>

/** A command ended without an exit code, for example because its sandbox ended. */
export class CommandInterrupted extends Error {
  override readonly name = 'CommandInterrupted'
}

/** Runs commands in one sandbox. If the control process dies, the agent kills the commands that it was waiting for. */
export class GuestShell {
  readonly sandboxId: string
  readonly client: AgentClient
  readonly workspaceId: string
  readonly requestId: string

  constructor(client: AgentClient, sandboxId: string, workspaceId: string, requestId: string) {
    this.client = client
    this.sandboxId = sandboxId
    this.workspaceId = workspaceId
    this.requestId = requestId
  }

  /** @param onOutput receives the chunks of both output streams as they arrive. @throws CommandInterrupted */
  async run(body: GuestCommand, deadline: Deadline, onOutput: OnOutput = () => undefined): Promise<Ran> {
    const kept = { stdout: '', stderr: '' }
    const answer = await this.#send('POST', '/exec/stream', deadline, JSON.stringify(body))
    for await (const batch of readServerSentEvents(unbroken(answer.body, deadline))) {
      for (const { event, data } of batch) {
        const { chunk = '', exit_code: exitCode, error } = JSON.parse(data) as Chunk
        if (event === 'exit') return { exitCode: exitCode ?? -1, ...kept }
        if (event === 'error') throw new CommandInterrupted(error ?? 'the command broke off')
        if (event !== 'stdout' && event !== 'stderr') continue
        kept[event] = (kept[event] + chunk).slice(-KEPT_CHARS)
        onOutput(chunk, event)
      }
    }
    throw new CommandInterrupted('the command broke off')
  }

  /** Starts a command that continues in the background. */
  async begin(body: GuestCommand, deadline: Deadline): Promise<string> {
    const answer = await this.#send('POST', '/exec', deadline, JSON.stringify({ ...body, background: true }))
    return backgroundStarted.parse(await wholeOf(answer.body, deadline)).exec_id
  }

  async look(execId: string, deadline: Deadline): Promise<BackgroundState> {
    const answer = await this.#send('GET', `/execs/${execId}`, deadline)
    return backgroundState.parse(await wholeOf(answer.body, deadline))
  }

  async #send(method: 'GET' | 'POST', action: string, deadline: Deadline, body?: string) {
    const path = `/v1/sandboxes/${this.sandboxId}${action}`
    const answer = await this.client.forward({
      method,
      path,
      workspaceId: this.workspaceId,
      requestId: this.requestId,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      ...(body !== undefined && { body }),
      timeoutMs: ANSWER_MS,
      // The agent sends at least heartbeats within this time.
      silenceMs: ANSWER_MS,
      signal: deadline.signal,
    })
    if (answer.statusCode < 300) return answer
    const text = (await readBeginning(answer.body, MAX_REFUSAL_BYTES)).toString()
    throw new AgentRefused({ method, path }, answer.statusCode, text)
  }
}

/** If the body breaks off and control did not abort it, the agent is gone. @throws AgentUnreachable */
async function* unbroken(body: AsyncIterable<Uint8Array>, deadline: Deadline): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    if (deadline.signal.aborted) throw error
    throw new AgentUnreachable({ method: 'POST', path: '/exec' }, error)
  }
}

async function wholeOf(body: AsyncIterable<Uint8Array>, deadline: Deadline): Promise<unknown> {
  return JSON.parse((await readWhole(unbroken(body, deadline), MAX_ANSWER_BYTES)).toString())
}
