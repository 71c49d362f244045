/** Debian's Chromium in headless mode, controlled by the DevTools protocol. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { until } from './until.ts'

export const CHROMIUM = '/usr/bin/chromium'
export const hasBrowser = existsSync(CHROMIUM)

const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--remote-debugging-port=0',
]

/** Chromium's words while a tab goes from one page to the next. */
const NO_PAGE = 'Cannot find default execution context'

interface Answer {
  readonly id?: number
  readonly result?: {
    readonly result?: { readonly value?: unknown }
    readonly targetId?: string
    readonly sessionId?: string
    readonly data?: string
  }
  readonly error?: { readonly message: string }
}

export class Browser {
  readonly #process: ChildProcess
  readonly #folder: string
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>()
  #lastId = 0

  private constructor(process: ChildProcess, folder: string, socket: WebSocket) {
    this.#process = process
    this.#folder = folder
    this.#socket = socket
    socket.on('message', (data) => {
      const answer = JSON.parse((data as Buffer).toString()) as Answer
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.resolve(answer)
    })
  }

  static async start(): Promise<Browser> {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-browser-'))
    const process = spawn(CHROMIUM, [...FLAGS, `--user-data-dir=${folder}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    process.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
    const url = await until('the browser to listen', () => /DevTools listening on (\S+)/.exec(said)?.[1], 60_000)
    const socket = new WebSocket(url)
    await once(socket, 'open')
    return new Browser(process, folder, socket)
  }

  /** Opens a new tab at an address. */
  async open(url: string): Promise<Tab> {
    const { result: made } = await this.#ask('Target.createTarget', { url })
    const { result: attached } = await this.#ask('Target.attachToTarget', { targetId: made?.targetId, flatten: true })
    const { sessionId } = attached ?? {}
    return {
      evaluate: async (expression) => {
        const asked = { expression, returnByValue: true, awaitPromise: true }
        const { result } = await until('a page in the tab', () => this.#askPage(asked, sessionId))
        return result?.result?.value
      },
      screenshot: async () => {
        const drawn = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))'
        await this.#ask('Runtime.evaluate', { expression: drawn, awaitPromise: true }, sessionId)
        const { result } = await this.#ask('Page.captureScreenshot', { format: 'png' }, sessionId)
        return Buffer.from(result?.data ?? '', 'base64')
      },
    }
  }

  async stop(): Promise<void> {
    this.#socket.terminate()
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  /** `null`: the tab is between two pages, and nothing was evaluated. */
  async #askPage(asked: object, sessionId?: string): Promise<Answer | null> {
    return this.#ask('Runtime.evaluate', asked, sessionId).catch((error: unknown) => {
      if (String(error).includes(NO_PAGE)) return null
      throw error
    })
  }

  async #ask(method: string, params: object, sessionId?: string): Promise<Answer> {
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<Answer>()
    this.#waiting.set(id, waiting)
    this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }))
    const answer = await waiting.promise
    this.#waiting.delete(id)
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer
  }
}

export interface Tab {
  /** Evaluates an expression in the page; waits for a promise. */
  evaluate(expression: string): Promise<unknown>
  /** A screenshot of the page, as PNG. */
  screenshot(): Promise<Buffer>
}
