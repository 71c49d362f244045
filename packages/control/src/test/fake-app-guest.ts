import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import type { FakeAgent } from './fake-agent.ts'
import { readAll } from './fake-answer.ts'

/**
 * Answers for the guests of a fake agent while apps are built in them: enough of a shell for one project, which is
 * healthy at once.
 */
export class FakeAppGuest {
  /** The commands that were run, without control's own scripts, each with its sandbox. */
  readonly ran: { readonly sandbox: string; readonly cmd: string }[] = []
  /** The content of the lock file. */
  lock = 'a'
  commit = 'c'.repeat(40)
  /** Exit codes of commands that do not end with 0. */
  readonly codes = new Map<string, number>()
  /** The variables of every clone. */
  readonly clones: Readonly<Record<string, string>>[] = []

  constructor(agent: FakeAgent) {
    agent.onOperation = (request, response) => this.#answer(request, response)
    agent.onUpgrade = (_request, socket) => beHealthy(socket)
  }

  /** The commands that were run in a sandbox. */
  ranIn(sandbox: string): string[] {
    return this.ran.filter((each) => each.sandbox === sandbox).map(({ cmd }) => cmd)
  }

  #answer(request: IncomingMessage, response: ServerResponse): boolean {
    const [, sandbox = '', action] =
      /^\/v1\/sandboxes\/([^/]+)\/(exec\/stream|exec|execs)\b/.exec(request.url ?? '') ?? []
    if (action === undefined) return false
    if (action === 'execs') {
      const running = {
        exec_id: 'app',
        pid: 1,
        cmd: 'app',
        status: 'running',
        exit_code: null,
        started_at: '',
        ended_at: null,
        timeout_at: null,
        output_bytes: 0,
        oldest_offset: 0,
      }
      response.end(JSON.stringify(running))
      return true
    }
    void readAll(request).then((text) => this.#run(sandbox, action, JSON.parse(text), response))
    return true
  }

  #run(sandbox: string, action: string, body: { cmd: string; env?: Record<string, string> }, response: ServerResponse) {
    const { cmd, env = {} } = body
    if (action === 'exec') {
      response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ pid: 1, exec_id: 'app' }))
      return
    }
    if (env['SOURCE_URL'] !== undefined) this.clones.push(env)
    const said = this.#said(cmd, env)
    if (said === null) this.ran.push({ sandbox, cmd })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (said !== null) response.write(`event: stdout\ndata: ${JSON.stringify({ chunk: said })}\n\n`)
    const exit_code = [...this.codes].find(([part]) => cmd.includes(part))?.[1] ?? 0
    response.end(`event: exit\ndata: ${JSON.stringify({ exit_code, duration_ms: 1 })}\n\n`)
  }

  /** `null`: a command of the project. */
  #said(cmd: string, env: Readonly<Record<string, string>>): string | null {
    if (env['SOURCE_URL'] !== undefined) return `${this.#project}commit ${this.commit}\n`
    return cmd.includes('git status') || cmd.startsWith(': >') ? '' : null
  }

  get #project(): string {
    const json = JSON.stringify({ dependencies: { x: '1' }, scripts: { build: 'build it', start: 'start it' } })
    return [
      'folder /srv/app',
      `lock ${this.lock.padEnd(64, '0')}  package-lock.json`,
      `file package.json ${Buffer.from(json).toString('base64')}`,
      'entry package.json',
      'entry package-lock.json',
      'install-folder /srv/app',
      'install-entry package-lock.json',
      '',
    ].join('\n')
  }
}

function beHealthy(socket: Duplex): void {
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PORT_STREAM_PROTOCOL}\r\n\r\n`)
  socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
}
