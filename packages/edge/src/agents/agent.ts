import type { Readable } from 'node:stream'
import { type AgentSandbox, agentSandbox, type AgentSandboxList, agentSandboxList } from '@offshoot/contract/agent-api'
import { hostName } from '@offshoot/contract/fleet-identity'
import { type MutualTls, type Peer, peerConnector } from '@offshoot/kit/mutual-tls'
import { serverAttributes, startClientSpan } from '@offshoot/kit/otlp/telemetry'
import { Pool } from 'undici'
import { EdgeCredential } from './edge-credential.ts'

/** Milliseconds for a query about sandboxes. */
const ANSWER_MS = 5_000
/** Milliseconds without a byte on the event stream, which sends a heartbeat every 15 s. */
const EVENTS_SILENCE_MS = 45_000
/** Milliseconds to open a connection with TLS. */
const CONNECT_MS = 5_000
/** Concurrent queries, beside the event stream. */
const CONNECTIONS = 8

/** Where an agent is, and what it shares with the edge. */
export interface AgentAddress {
  readonly url: string
  /** base64 */
  readonly secret: string
  /** The host behind an `https` address, and the edge's own certificate. Absent: HTTP on loopback. */
  readonly host?: { readonly id: string; readonly identity: MutualTls } | undefined
}

/** The edge's client of one agent. */
export class Agent {
  readonly url: string
  readonly credential: EdgeCredential
  readonly server
  readonly peer: Peer
  /** According to control, no control process hears its host. */
  isLost = false
  readonly #pool: Pool

  constructor({ url, secret, host }: AgentAddress) {
    this.url = url
    this.server = serverAttributes(url)
    this.peer = {
      // A URL has the address of IPv6 in brackets.
      host: this.server['server.address'].replace(/^\[|\]$/g, ''),
      port: this.server['server.port'],
      tls: host === undefined ? null : { identity: host.identity, name: hostName(host.id) },
    }
    this.credential = new EdgeCredential(secret, host?.id)
    const connect = this.peer.tls === null ? {} : { connect: peerConnector(this.peer, CONNECT_MS) }
    this.#pool = new Pool(url, { ...connect, connections: CONNECTIONS, bodyTimeout: EVENTS_SILENCE_MS })
  }

  /** All sandboxes of the agent, consistent with the event log up to `last_seq`. */
  async list(signal: AbortSignal): Promise<AgentSandboxList> {
    const { statusCode, body } = await this.#get('/v1/sandboxes', signal)
    if (statusCode !== 200) throw new Error(`${this.url} answered its list with ${statusCode}: ${await body.text()}`)
    return agentSandboxList.parse(await body.json())
  }

  /** `null` if the agent has no such sandbox. */
  async find(id: string, signal: AbortSignal): Promise<AgentSandbox | null> {
    const { statusCode, body } = await this.#get(`/v1/sandboxes/${id}`, signal)
    if (statusCode === 200) return agentSandbox.parse(await body.json())
    await body.dump()
    return null
  }

  /** The agent's event log as server-sent events, starting after record `cursor`. */
  async events(cursor: number, signal: AbortSignal): Promise<Readable> {
    const { statusCode, body } = await this.#get(`/v1/agent/events?after=${cursor}`, signal)
    if (statusCode === 200) return body
    throw new Error(`${this.url} answered its events with ${statusCode}: ${await body.text()}`)
  }

  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  async #get(path: string, signal: AbortSignal) {
    const authorization = `Bearer ${await this.credential.get()}`
    const span = startClientSpan('GET', this.server)
    try {
      const headers = { authorization, ...span?.headers }
      const answer = await this.#pool.request({ method: 'GET', path, headers, headersTimeout: ANSWER_MS, signal })
      span?.answered(answer.statusCode)
      return answer
    } catch (error) {
      span?.fail(error)
      throw error
    } finally {
      span?.end()
    }
  }
}
