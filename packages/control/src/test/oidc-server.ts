import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

interface Grant {
  readonly redirectUri: string
  readonly challenge: string
  readonly nonce: string
}

interface Reply {
  readonly status: number
  readonly body?: unknown
  readonly location?: string
}

/** An OpenID Connect provider whose user is always signed in: the code flow with PKCE (OpenID Connect Core 1.0). */
export class OidcServer {
  static readonly CLIENT_ID = 'offshoot'
  static readonly CLIENT_SECRET = 'the secret of the client'
  /** The claims of its user. */
  claims: Record<string, unknown> = {}
  /** Changes the claims of ID tokens, to attack. */
  forge: Record<string, unknown> = {}
  isBroken = false
  /** Signs with a key that its key set does not have. */
  usesOtherKey = false
  readonly #server: Server
  readonly #grants = new Map<string, Grant>()
  readonly #keys: { readonly own: CryptoKey; readonly other: CryptoKey; readonly jwk: JWK }

  private constructor(own: CryptoKey, other: CryptoKey, jwk: JWK) {
    this.#keys = { own, other, jwk: { ...jwk, kid: 'one', alg: 'RS256', use: 'sig' } }
    this.#server = createServer((request, response) => {
      void this.#handle(request, response)
    })
  }

  static async start(): Promise<OidcServer> {
    const [own, other] = await Promise.all([generateKeyPair('RS256', { extractable: true }), generateKeyPair('RS256')])
    const server = new OidcServer(own.privateKey, other.privateKey, await exportJWK(own.publicKey))
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body = {}, location } = await this.#answer(request)
    response.writeHead(status, { 'content-type': 'application/json', ...(location !== undefined && { location }) })
    response.end(JSON.stringify(body))
  }

  async #answer(request: IncomingMessage): Promise<Reply> {
    const url = new URL(request.url ?? '/', this.issuer)
    if (this.isBroken) return { status: 503 }
    if (url.pathname === '/.well-known/openid-configuration') return { status: 200, body: this.#discovery() }
    if (url.pathname === '/jwks') return { status: 200, body: { keys: [this.#keys.jwk] } }
    if (url.pathname === '/authorize') return this.#authorize(url.searchParams)
    if (url.pathname === '/token') return this.#token(request, new URLSearchParams(await text(request)))
    return { status: 404 }
  }

  #discovery() {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
    }
  }

  #authorize(query: URLSearchParams): Reply {
    const [redirectUri, challenge, nonce, state] = ['redirect_uri', 'code_challenge', 'nonce', 'state'].map(
      (name) => query.get(name) ?? '',
    ) as [string, string, string, string]
    const isRight =
      query.get('client_id') === OidcServer.CLIENT_ID &&
      query.get('response_type') === 'code' &&
      query.get('code_challenge_method') === 'S256' &&
      (query.get('scope') ?? '').split(' ').includes('openid')
    if (!isRight || [redirectUri, challenge, nonce, state].includes('')) return { status: 400 }
    const code = randomUUID()
    this.#grants.set(code, { redirectUri, challenge, nonce })
    const back = new URL(redirectUri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', state)
    return { status: 302, location: back.href }
  }

  async #token({ headers }: IncomingMessage, form: URLSearchParams): Promise<Reply> {
    const basic = Buffer.from(headers.authorization?.replace(/^Basic /, '') ?? '', 'base64').toString()
    const secret = form.get('client_secret') ?? decodeURIComponent(basic.split(':')[1]?.replaceAll('+', ' ') ?? '')
    const code = form.get('code') ?? ''
    const grant = this.#grants.get(code)
    this.#grants.delete(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (secret !== OidcServer.CLIENT_SECRET) return { status: 401, body: { error: 'invalid_client' } }
    if (grant?.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri')) {
      return { status: 400, body: { error: 'invalid_grant' } }
    }
    const iat = Math.floor(Date.now() / 1000)
    const claims = {
      iat,
      exp: iat + 300,
      iss: this.issuer,
      aud: OidcServer.CLIENT_ID,
      nonce: grant.nonce,
      ...this.claims,
      ...this.forge,
    }
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .sign(this.usesOtherKey ? this.#keys.other : this.#keys.own)
    const tokens = { access_token: `at-${randomUUID()}`, token_type: 'Bearer', expires_in: 300, id_token: idToken }
    return { status: 200, body: tokens }
  }
}
