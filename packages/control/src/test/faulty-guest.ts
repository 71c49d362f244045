import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { json } from 'node:stream/consumers'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import type { FakeAgent } from './fake-agent.ts'

/** The steps of a deployment in its sandbox. */
export type GuestStep = 'clone' | 'read' | 'install' | 'build' | 'start' | 'look' | 'health' | 'mark'

/** How a step fails. */
export type GuestFault =
  | { readonly exit: number; readonly stderr?: string }
  /** An error that the agent sends in the command's stream. */
  | { readonly told: string }
  | { readonly refused: number; readonly error: string }
  /** The status of the app's page. */
  | { readonly page: number }
  /** The connection breaks during the step. */
  | 'cut'
  | 'hang'

interface Command {
  readonly cmd: string
  readonly env?: Record<string, string>
}

const COMMIT = 'c'.repeat(40)
const LISTING = 'folder /srv/app\nentry index.html\n'

/**
 * Answers for the guests of apps on a fake agent. It answers every command as git, a package manager and an app would,
 * unless the test has set a fault for the app and step. Apps are identified by the last part of their `git_url`; they
 * install with `install-it` and build with `build-it`.
 */
export class FaultyGuest {
  /** By app. */
  readonly #faults = new Map<string, Map<GuestStep, GuestFault>>()
  /** By app: resolves once the app has reached the step with the fault. */
  readonly #reached = new Map<string, () => void>()
  readonly #apps = new Map<string, string>()
  readonly #held = new Set<ServerResponse>()

  constructor(agent: FakeAgent) {
    agent.onOperation = (request, response) => this.#take(request, response)
    agent.onUpgrade = (request, socket) => this.#connect(request, socket)
  }

  /** Makes every such step of the app fail from now on. Resolves when the first one has failed. */
  fail(app: string, step: GuestStep, fault: GuestFault): Promise<void> {
    this.#faults.set(app, (this.#faults.get(app) ?? new Map<GuestStep, GuestFault>()).set(step, fault))
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#reached.set(app, resolve)
    return promise
  }

  /** Removes the app's faults. */
  heal(app: string): void {
    this.#faults.delete(app)
  }

  /** Closes the requests that hang. */
  stop(): void {
    for (const response of this.#held) response.destroy()
  }

  #take(request: IncomingMessage, response: ServerResponse): boolean {
    const [, , , id = '', action, more] = (request.url ?? '').split('?')[0]?.split('/') ?? []
    if (action === 'logs') send(response, 200, [])
    else if (action === 'listeners') send(response, 200, { ports: [22, 8080] })
    else if (action === 'execs') this.#look(id, response)
    else if (action === 'exec') {
      // A caller that goes away while it sends its command.
      this.#exec(id, more === 'stream', request, response).catch(() => response.destroy())
    } else return false
    return true
  }

  #look(id: string, response: ServerResponse): void {
    const fault = this.#faultOf(id, 'look')
    const ended = fault !== undefined && typeof fault === 'object' && 'exit' in fault ? fault.exit : null
    const exec = { exec_id: 'x', pid: 1, cmd: '', started_at: '', ended_at: null, timeout_at: null }
    const status = ended === null ? 'running' : 'exited'
    send(response, 200, { ...exec, status, exit_code: ended, output_bytes: 0, oldest_offset: 0 })
  }

  async #exec(id: string, isStream: boolean, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const command = (await json(request)) as Command
    const step = stepOf(command)
    const url = command.env?.['SOURCE_URL']
    if (url !== undefined) this.#apps.set(id, url.split('/').at(-1) ?? '')
    const own = step === null ? undefined : this.#faultOf(id, step)
    // The clone command also runs the script that reads the project.
    const fault = own ?? (step === 'clone' ? this.#faultOf(id, 'read') : undefined)
    if (fault === 'hang') this.#held.add(response)
    else if (fault === 'cut') {
      response.writeHead(200).write(': begun\n\n')
      response.socket?.destroySoon()
    } else if (fault !== undefined && 'refused' in fault) send(response, fault.refused, { error: fault.error })
    else if (!isStream) send(response, 200, { pid: 1, exec_id: 'x' })
    else stream(response, step === 'clone' && own === undefined, fault)
  }

  #connect({ url = '' }: IncomingMessage, socket: Duplex): void {
    const [, id = ''] = /sandboxes\/([^/]+)\/ports/.exec(url) ?? []
    const fault = this.#faultOf(id, 'health')
    if (fault === 'cut') socket.destroy()
    else if (fault !== undefined && fault !== 'hang' && 'refused' in fault) {
      const body = JSON.stringify({ error: fault.error })
      socket.end(`HTTP/1.1 ${fault.refused} No\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    } else {
      const page = typeof fault === 'object' && 'page' in fault ? fault.page : 200
      socket.write(`HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: ${PORT_STREAM_PROTOCOL}\r\n\r\n`)
      socket.once('data', () => socket.end(`HTTP/1.1 ${page} Said\r\ncontent-length: 0\r\n\r\n`))
    }
  }

  #faultOf(id: string, step: GuestStep): GuestFault | undefined {
    const app = this.#apps.get(id) ?? ''
    const fault = this.#faults.get(app)?.get(step)
    if (fault !== undefined) this.#reached.get(app)?.()
    return fault
  }
}

function stepOf({ cmd, env = {} }: Command): GuestStep | null {
  if (env['SOURCE_URL'] !== undefined) return 'clone'
  if (env['OFFSHOOT_START'] !== undefined) return 'start'
  if (cmd === 'install-it') return 'install'
  if (cmd === 'build-it') return 'build'
  return cmd.startsWith(': >') ? 'mark' : null
}

function stream(response: ServerResponse, isCloned: boolean, fault: GuestFault | undefined): void {
  const tell = (event: string, data: object) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const failed = (typeof fault === 'object' ? fault : {}) as { exit?: number; stderr?: string; told?: string }
  if (isCloned) tell('stdout', { chunk: `${LISTING}commit ${COMMIT}\n` })
  if (failed.stderr !== undefined) tell('stderr', { chunk: `${failed.stderr}\n` })
  if (failed.told === undefined) tell('exit', { exit_code: failed.exit ?? 0, duration_ms: 1 })
  else tell('error', { error: failed.told })
  response.end()
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
