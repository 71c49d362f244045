import type { Readable } from 'node:stream'
import {
  agentInfo,
  type AgentInfo,
  agentSandbox,
  agentSandboxList,
  type AgentSandboxList,
  type CreateOnAgentBody,
  type SpentCreditBody,
} from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { UpgradeAnswer } from '@offshoot/kit/http-upgrades'
import type { Peer } from '@offshoot/kit/mutual-tls'
import { serverAttributes, startClientSpan } from '@offshoot/kit/otlp/telemetry'
import type { Dispatcher, Pool } from 'undici'
import { type AgentAddress, peerOf } from './agent-address.ts'
import { type Connections, connections } from './agent-connections.ts'
import { AgentCredential } from './agent-credential.ts'
import { AgentRefused, AgentUnreachable, heldSandbox } from './agent-failure.ts'
import type { CreateOutcome } from './create-outcome.ts'
import { requestUpgrade } from './request-upgrade.ts'
import { MAX_REFUSAL_BYTES, readBeginning, readWhole } from '../platform/http/bounded-body.ts'

/** Milliseconds for calls that start or end no VM. */
const STATUS_TIMEOUT_MS = 5_000
/** Milliseconds that an agent may take for one create, including its queue. */
export const CREATE_TIMEOUT_MS = 120_000
const REMOVE_TIMEOUT_MS = 60_000
/**
 * Calls for the agent's state, its list, its log and spent credit use connections of their own, so that no tenant's
 * call delays them.
 */
const MAX_STATUS_CONNECTIONS = 16
/**
 * A command lasts as long as its caller waits. Commands use connections of their own, so that they cannot starve other
 * calls.
 */
const MAX_CALL_CONNECTIONS = 1_024
const MAX_EXEC_CONNECTIONS = 2_048
/** Streams stay open for hours, so they use connections of their own as well. */
const MAX_STREAM_CONNECTIONS = 16_384
/** Limit of an answer that is read as a whole, in bytes. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** Answers with a known length up to this number of bytes are read at once, which is faster than as a stream. */
const SMALL_ANSWER_BYTES = 64 * 1024
/** Milliseconds without a byte after which the log's stream counts as dead. The agent sends a heartbeat every 15 s. */
export const EVENTS_SILENCE_MS = 45_000
/** Milliseconds for an upgrade, for which the agent may have to connect to the guest. */
const UPGRADE_TIMEOUT_MS = 60_000

interface Call {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly workspaceId?: string
  readonly requestId: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer | Readable
  /** Milliseconds until the answer's headers. 0: no limit. */
  readonly timeoutMs: number
  /** Milliseconds between two pieces of the answer's body. Absent: `timeoutMs`. */
  readonly silenceMs?: number
  readonly signal?: AbortSignal
}

/** A caller's request to a sandbox, without the headers that are meant for control only. */
export type Forwarded = Required<Pick<Call, 'workspaceId' | 'headers' | 'silenceMs' | 'signal'>> &
  Omit<Call, 'workspaceId' | 'headers' | 'silenceMs' | 'signal'>
export type ForwardedUpgrade = Pick<Forwarded, 'path' | 'workspaceId' | 'requestId' | 'headers' | 'signal'>

/** One agent's HTTP API (contract/agent-api.ts). Throws {@link AgentUnreachable} if no answer came. */
export class AgentClient {
  readonly url: string
  readonly peer: Peer
  /** Called when a connection could not be opened, so that all callers treat the agent as unreachable. */
  onGone: () => void = () => undefined
  /** Called when a sandbox refuses a change because it is held. Returns whether to ask again. */
  onHeld: (sandboxId: string, requestId: string) => Promise<boolean> = async () => false
  readonly #status: Connections
  readonly #calls: Connections
  readonly #execs: Connections
  readonly #streams: Connections
  readonly #credential: AgentCredential
  readonly #server

  constructor(address: AgentAddress, clusterId: string) {
    const { url, secret, host } = address
    this.url = url
    this.#server = serverAttributes(url)
    this.peer = peerOf(address)
    this.#credential = new AgentCredential(secret, clusterId, host?.id)
    this.#status = connections(url, this.peer, MAX_STATUS_CONNECTIONS)
    this.#calls = connections(url, this.peer, MAX_CALL_CONNECTIONS)
    this.#execs = connections(url, this.peer, MAX_EXEC_CONNECTIONS)
    this.#streams = connections(url, this.peer, MAX_STREAM_CONNECTIONS)
  }

  async info(requestId: string): Promise<AgentInfo> {
    return agentInfo.parse(
      await this.ask({ method: 'GET', path: '/v1/agent', requestId, timeoutMs: STATUS_TIMEOUT_MS }),
    )
  }

  /** Tells the agent which workspaces must not start anything from now on, because they have spent their credit. */
  async putSpentCredit(body: SpentCreditBody, requestId: string): Promise<void> {
    const path = '/v1/agent/spent-credit'
    await this.ask({ method: 'PUT', path, requestId, body: JSON.stringify(body), timeoutMs: STATUS_TIMEOUT_MS })
  }

  /**
   * Makes the agent obey this cluster.
   * @throws AgentRefused 409 if it obeys another cluster; only `takeOver` overrides that
   */
  async obey(clusterId: string, requestId: string, takeOver = false): Promise<void> {
    const body = JSON.stringify({ cluster_id: clusterId, take_over: takeOver })
    await this.ask({ method: 'PUT', path: '/v1/agent/cluster', requestId, body, timeoutMs: STATUS_TIMEOUT_MS })
  }

  async list(requestId: string): Promise<AgentSandboxList> {
    const call = { method: 'GET', path: '/v1/sandboxes', requestId, timeoutMs: STATUS_TIMEOUT_MS } as const
    return agentSandboxList.parse(await this.ask(call))
  }

  /** Returns every answer or failure of the agent as an outcome, for the scheduler to decide on. */
  async create(
    body: CreateOnAgentBody,
    workspaceId: string,
    requestId: string,
    timeoutMs: number,
  ): Promise<CreateOutcome> {
    const call = {
      method: 'POST',
      path: '/v1/sandboxes',
      body: JSON.stringify(body),
      workspaceId,
      requestId,
      timeoutMs,
    } as const
    try {
      return { kind: 'created', sandbox: agentSandbox.parse(await this.ask(call)) }
    } catch (error) {
      if (error instanceof AgentUnreachable) return { kind: 'unreachable', mayHaveBegun: error.mayHaveBegun, error }
      if (error instanceof AgentRefused) return { kind: error.status === 507 ? 'no-room' : 'refused', error }
      throw error
    }
  }

  /**
   * Idempotent: a sandbox that does not exist counts as removed.
   * @param attemptId removes only what this attempt has made (`deleteOnAgentQuery`)
   */
  async remove(id: string, workspaceId: string, requestId: string, attemptId?: string): Promise<void> {
    const path = `/v1/sandboxes/${id}${attemptId === undefined ? '' : `?attempt_id=${attemptId}`}`
    try {
      await this.ask({ method: 'DELETE', path, workspaceId, requestId, timeoutMs: REMOVE_TIMEOUT_MS })
    } catch (error) {
      if (error instanceof AgentRefused && error.status === 404) return
      throw error
    }
  }

  /** Returns the unread answer. Waits as long as the command runs. `signal` aborts when the caller hangs up. */
  exec(id: string, workspaceId: string, requestId: string, body: Buffer | string, signal: AbortSignal) {
    const path = `/v1/sandboxes/${id}/exec`
    return this.#send(this.#execs, { method: 'POST', path, workspaceId, requestId, body, timeoutMs: 0, signal })
  }

  /** Forwards a caller's request unchanged and returns the unread answer. */
  forward(forwarded: Forwarded): Promise<Dispatcher.ResponseData> {
    return this.#send(this.#streams, forwarded)
  }

  /** Forwards a caller's upgrade unchanged. */
  async upgrade(forwarded: ForwardedUpgrade): Promise<UpgradeAnswer> {
    const { path, headers, workspaceId, requestId, signal } = forwarded
    const authorization = `Bearer ${await this.#credential.for(workspaceId)}`
    const span = startClientSpan('GET', this.#server)
    try {
      const answer = await requestUpgrade(this.peer, {
        path,
        headers: { ...headers, authorization, 'x-request-id': requestId, ...span?.headers },
        timeoutMs: UPGRADE_TIMEOUT_MS,
        signal,
      })
      span?.answered(answer.response.statusCode ?? 0)
      return answer
    } catch (error) {
      span?.fail(error)
      throw this.#unreachable({ method: 'GET', path }, error)
    } finally {
      span?.end()
    }
  }

  /** A grant with which an edge enters one sandbox for an SSH session. */
  sshGrant(sandboxId: string, workspaceId: string, session: string): Promise<string> {
    return this.#credential.sshGrant(sandboxId, workspaceId, session)
  }

  /** Whether {@link sshGrant} made this grant for the same session, less than a day ago. */
  isSshGrant(grant: string, sandboxId: string, session: string): Promise<boolean> {
    return this.#credential.isSshGrant(grant, sandboxId, session)
  }

  /** The agent's log as server-sent events, starting after `cursor`. */
  async events(cursor: number, requestId: string, signal: AbortSignal): Promise<Readable> {
    const path = `/v1/agent/events?after=${cursor}`
    const call = { method: 'GET', path, requestId, timeoutMs: EVENTS_SILENCE_MS, signal } as const
    const { statusCode, body } = await this.#send(this.#status, call)
    if (statusCode === 200) return body
    throw new AgentRefused(call, statusCode, (await readBeginning(body, MAX_REFUSAL_BYTES)).toString())
  }

  async close(): Promise<void> {
    const all = [this.#status, this.#calls, this.#execs, this.#streams]
    await Promise.all(all.map(({ pool }) => pool.destroy()))
  }

  /** Sends one call and reads the whole answer. @throws AgentUnreachable, AgentRefused, ApiError 429 */
  async ask(call: Call): Promise<unknown> {
    try {
      return await this.#askOnce(call)
    } catch (error) {
      const held = heldSandbox(call, error)
      if (held === null || !(await this.onHeld(held, call.requestId))) throw error
      return this.#askOnce(call)
    }
  }

  async #askOnce(call: Call): Promise<unknown> {
    const { statusCode, headers, body } = await this.#send(call.workspaceId ? this.#calls : this.#status, call)
    const isSmall = Number(headers['content-length']) <= SMALL_ANSWER_BYTES
    const text = await (isSmall ? body.text() : readText(body)).catch((error: unknown) => {
      throw new AgentUnreachable(call, error)
    })
    if (statusCode >= 300) throw new AgentRefused(call, statusCode, text)
    return text === '' ? undefined : JSON.parse(text)
  }

  /** @throws ApiError 429 if the workspace already holds its share of the connections */
  async #send({ pool, shares }: Connections, call: Call): Promise<Dispatcher.ResponseData> {
    const release = call.workspaceId === undefined ? () => undefined : shares.take(call.workspaceId)
    if (release === null) throw new ApiError('tooManyConnections', { error: 'too many requests to one host' })
    try {
      const answer = await this.#request(pool, call)
      answer.body.once('close', release)
      return answer
    } catch (error) {
      release()
      throw error
    }
  }

  async #request(pool: Pool, call: Call): Promise<Dispatcher.ResponseData> {
    const { method, path, body, timeoutMs, silenceMs = timeoutMs, signal } = call
    const span = startClientSpan(method, this.#server)
    const headers: Record<string, string> = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...call.headers,
      authorization: `Bearer ${await this.#credential.for(call.workspaceId)}`,
      'x-request-id': call.requestId,
      ...span?.headers,
    }
    try {
      const answer = await pool.request({
        method,
        path,
        headers,
        body: body ?? null,
        headersTimeout: timeoutMs,
        bodyTimeout: silenceMs,
        ...(signal && { signal }),
      })
      span?.answered(answer.statusCode)
      return answer
    } catch (error) {
      span?.fail(error)
      throw this.#unreachable(call, error)
    } finally {
      span?.end()
    }
  }

  #unreachable(call: Pick<Call, 'method' | 'path'>, error: unknown): AgentUnreachable {
    const unreachable = new AgentUnreachable(call, error)
    if (!unreachable.mayHaveBegun) this.onGone()
    return unreachable
  }
}

async function readText(body: Readable): Promise<string> {
  return (await readWhole(body, MAX_ANSWER_BYTES)).toString()
}
