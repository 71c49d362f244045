import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jwtVerify } from 'jose'
import { readAll } from './fake-answer.ts'
import { type Answer, call } from './harness.ts'

const APP_ID = '4711'
const REPOSITORIES = 130
const PAGE = 100

interface TokenScope {
  readonly repositories?: readonly string[]
  readonly permissions?: Readonly<Record<string, string>>
}

/** The git provider's API for apps, as far as control uses it. It checks tokens as the real one does. */
export class FakeGitProvider {
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  readonly #tokens = new Map<string, { installation: number; scope: TokenScope }>()
  /** Names of repositories that the installations do not have. */
  readonly hidden = new Set<string>()
  readonly #server: Server
  /** By number: the account and the time of creation. */
  readonly installations = new Map<number, { login: string; createdAt: Date | null }>()

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<FakeGitProvider> {
    const provider = new FakeGitProvider()
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve))
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The settings with which an operator would configure it. */
  get settings() {
    const privateKey = this.#keys.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
    return {
      app_id: APP_ID,
      slug: 'offshoot-test',
      private_key: privateKey,
      webhook_secret: 'a secret of the webhook',
      api_url: this.url,
      web_url: 'https://git.example.com',
    }
  }

  /** Whether a token grants access to that installation. */
  opens(token: string, installationId: number): boolean {
    return this.#tokens.get(token)?.installation === installationId
  }

  /** The scope of a token. */
  scopeOf(token: string): TokenScope | undefined {
    return this.#tokens.get(token)?.scope
  }

  /** Delivers an event to control. Calls with the same id are redeliveries. */
  deliver(controlUrl: string, event: string, body: unknown, id: string = randomUUID()): Promise<Answer> {
    const raw = JSON.stringify(body)
    const hmac = createHmac('sha256', this.settings.webhook_secret).update(raw).digest('hex')
    const headers = { 'x-github-event': event, 'x-github-delivery': id, 'x-hub-signature-256': `sha256=${hmac}` }
    return call(controlUrl, 'POST', '/v1/webhooks/github', { body: raw, headers })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url)
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.headers['user-agent'] === undefined) return void send(403, { message: 'no user agent' })
    if (pathname === '/installation/repositories') {
      const id = this.#tokens.get(token)?.installation
      if (id === undefined) return void send(401, { message: 'Bad credentials' })
      return void send(200, this.#page(id, Number(searchParams.get('page'))))
    }
    if (!(await this.#isApp(token))) return void send(401, { message: 'Bad credentials' })
    const [, number = '', action] = /^\/app\/installations\/(\d+)(\/access_tokens)?$/.exec(pathname) ?? []
    const installation = this.installations.get(Number(number))
    if (installation === undefined) return void send(404, { message: 'Not Found' })
    if (action === undefined) return void send(200, present(Number(number), installation))
    const scope = JSON.parse((await readAll(request)) || '{}') as TokenScope
    if (scope.repositories?.some((name) => this.hidden.has(name)) === true)
      return void send(422, { message: 'There is at least one repository that does not exist or is not accessible' })
    const made = `ghs_${randomUUID()}`
    this.#tokens.set(made, { installation: Number(number), scope })
    send(201, { token: made, expires_at: new Date(Date.now() + 3_600_000).toISOString() })
  }

  #page(id: number, page: number) {
    const login = this.installations.get(id)?.login
    const left = Math.max(0, Math.min(PAGE, REPOSITORIES - (page - 1) * PAGE))
    const repositories = Array.from({ length: left }, (_, at) => {
      const name = `repository-${(page - 1) * PAGE + at}`
      const html = `https://git.example.com/${login}/${name}`
      return {
        id: (page - 1) * PAGE + at + 1,
        name,
        full_name: `${login}/${name}`,
        private: true,
        default_branch: 'main',
        clone_url: `${html}.git`,
        html_url: html,
        more: 'than is asked for',
      }
    })
    return { total_count: REPOSITORIES, repositories }
  }

  /** Whether the token is signed with the app's key, names the app, and is valid for at most ten minutes. */
  async #isApp(token: string): Promise<boolean> {
    const options = { algorithms: ['RS256'], issuer: APP_ID, requiredClaims: ['exp', 'iat'] }
    const verified = await jwtVerify(token, this.#keys.publicKey, options).catch(() => null)
    if (verified === null) return false
    const { iat = 0, exp = 0 } = verified.payload
    return exp - Date.now() / 1000 <= 600 && iat <= Date.now() / 1000
  }
}

function present(id: number, { login, createdAt }: { login: string; createdAt: Date | null }) {
  const at = createdAt?.toISOString()
  return { id, account: { login, type: 'Organization' }, created_at: at, updated_at: at }
}
