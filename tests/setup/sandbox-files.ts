import { request as httpRequest, type ClientRequest } from 'node:http'
import type { Answer, Call } from './http.ts'
import type { Offshoot } from './offshoot.ts'

/** A client of the file routes of one sandbox. */
export class SandboxFiles {
  readonly #offshoot: Offshoot
  readonly #id: string

  constructor(offshoot: Offshoot, id: string) {
    this.#offshoot = offshoot
    this.#id = id
  }

  /** @param route including its query: `fs?path=/tmp` */
  at(route: string): string {
    return `/v1/sandboxes/${this.#id}/${route}`
  }

  async ask(method: string, route: string, options: Call = {}): Promise<Answer> {
    return this.#offshoot.request(method, this.at(route), options)
  }

  /** Runs a command and returns its output. */
  async sh(cmd: string): Promise<string> {
    return (await this.#offshoot.exec(this.#id, cmd)).stdout
  }

  /** Returns the answer before its body, which `ask` would read as text. */
  async open(route: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.#url(route), { headers: { ...this.#authorization, ...headers } })
  }

  async download(route: string, headers: Record<string, string> = {}): Promise<{ response: Response; bytes: Buffer }> {
    const response = await this.open(route, headers)
    return { response, bytes: Buffer.from(await response.arrayBuffer()) }
  }

  /** A request whose body the test sends piece by piece. */
  begin(method: string, route: string, headers: Record<string, string> = {}): ClientRequest {
    const request = httpRequest(this.#url(route), {
      method,
      agent: false,
      headers: { ...this.#authorization, ...headers },
    })
    return request.on('error', () => undefined)
  }

  #url(route: string): string {
    return this.#offshoot.credentials.base_url + this.at(route)
  }

  get #authorization(): { readonly authorization: string } {
    return { authorization: `Bearer ${this.#offshoot.credentials.api_key}` }
  }
}
