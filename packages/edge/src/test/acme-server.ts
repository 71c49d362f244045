import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
// The x509 library below needs this import first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { calculateJwkThumbprint, EmbeddedJWK, flattenedVerify, importJWK, type FlattenedJWSInput, type JWK } from 'jose'
import type { LocalAuthority } from '../certificates/local-authority.ts'

interface Order {
  readonly names: readonly string[]
  readonly account: string
  /** One per name: the token, and the state of its validation. */
  readonly proofs: { readonly name: string; readonly token: string; status: 'pending' | 'valid' | 'invalid' }[]
  certificate: string | null
}

type Answer = readonly [status: number, body: unknown, location?: string]

const UNAUTHORIZED = 'urn:ietf:params:acme:error:unauthorized'

/** How the authority validates names. An absent method finds nothing. */
export interface Sights {
  /** Looks up TXT records. */
  readonly lookUp?: (name: string) => Promise<readonly string[]>
  /** Fetches `http://DOMAIN/.well-known/acme-challenge/TOKEN`. */
  readonly fetch?: (domain: string, token: string) => Promise<string>
}

/**
 * An authority that speaks RFC 8555 over HTTP. It checks the signature and nonce of every request, and proves a name
 * only by its {@link Sights}.
 */
export class AcmeServer {
  readonly #authority: LocalAuthority
  readonly #sights: Sights
  readonly #server: Server
  readonly #nonces = new Set<string>()
  readonly #accounts = new Map<string, JWK>()
  readonly #orders: Order[] = []
  #hold: { readonly kind: string; readonly held: () => void } | null = null

  private constructor(authority: LocalAuthority, sights: Sights) {
    this.#authority = authority
    this.#sights = sights
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async start(authority: LocalAuthority, sights: Sights) {
    const server = new AcmeServer(authority, sights)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Names of each issued certificate. */
  get issued(): readonly (readonly string[])[] {
    return this.#orders.filter(({ certificate }) => certificate !== null).map(({ names }) => names)
  }

  /** Names of all orders, including failed ones. */
  get ordered(): readonly (readonly string[])[] {
    return this.#orders.map(({ names }) => names)
  }

  /** The server executes the next request of that kind, but does not answer it. Resolves when it has done so. */
  holdNext(kind: string): Promise<void> {
    const held = Promise.withResolvers<void>()
    this.#hold = { kind, held: held.resolve }
    return held.promise
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [status, body, location] = await this.#answer(request).catch((error: unknown): Answer => [
      400,
      { type: 'urn:ietf:params:acme:error:malformed', detail: String(error) },
    ])
    const hold = this.#hold
    if (hold !== null && request.url?.split('/')[1] === hold.kind) {
      this.#hold = null
      hold.held()
      return
    }
    const nonce = randomUUID()
    this.#nonces.add(nonce)
    const isPem = typeof body === 'string'
    response.writeHead(status, {
      'content-type': isPem ? 'application/pem-certificate-chain' : 'application/json',
      'replay-nonce': nonce,
      ...(location !== undefined && { location: this.url + location }),
    })
    response.end(isPem ? body : JSON.stringify(body))
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const [, what, index = '', location = '', type = ''] = (request.url ?? '').split('/')
    if (what === 'directory') return [200, this.#directory]
    if (what === 'nonce') return [200, {}]
    const { payload, account, jwk } = await this.#verify(request)
    if (what === 'account') return this.#account(jwk)
    if (what === 'orders') return this.#order(payload as { identifiers: { value: string }[] }, account)
    const order = this.#orders[Number(index)]
    if (order === undefined || order.account !== account) throw new Error('no such order')
    if (what === 'order') return [200, this.#show(order)]
    if (what === 'authorization') return [200, this.#showProof(order, Number(location))]
    if (what === 'challenge') return this.#prove(order, Number(location), type, jwk)
    if (what === 'finalize') return this.#finalize(order, (payload as { csr: string }).csr)
    return [200, order.certificate]
  }

  get #directory() {
    const { url } = this
    return { newNonce: `${url}/nonce`, newAccount: `${url}/account`, newOrder: `${url}/orders` }
  }

  /** Verifies with the account's key, or with the request's own key if it creates the account. */
  async #verify(request: IncomingMessage) {
    const signed = (await json(request)) as FlattenedJWSInput
    const verified = await flattenedVerify(signed, async (header, token) => {
      const known = this.#accounts.get(header?.['kid'] as string)
      return known === undefined ? EmbeddedJWK(header, token) : importJWK(known, header?.['alg'] as string)
    })
    const { nonce, url, kid, jwk } = verified.protectedHeader as { nonce: string; url: string; kid?: string; jwk?: JWK }
    if (!this.#nonces.delete(nonce)) throw new Error('bad nonce')
    if (url !== this.url + request.url) throw new Error('signed for another address')
    const key = kid === undefined ? jwk : this.#accounts.get(kid)
    if (key === undefined) throw new Error('no such account')
    const text = new TextDecoder().decode(verified.payload)
    return { payload: text === '' ? {} : (JSON.parse(text) as unknown), account: kid ?? '', jwk: key }
  }

  async #account(jwk: JWK): Promise<Answer> {
    const path = `/accounts/${await calculateJwkThumbprint(jwk)}`
    this.#accounts.set(this.url + path, jwk)
    return [201, { status: 'valid' }, path]
  }

  #order({ identifiers }: { identifiers: { value: string }[] }, account: string): Answer {
    const names = identifiers.map(({ value }) => value)
    const proofs = names.map((name) => ({ name, token: randomUUID(), status: 'pending' as const }))
    const order = { names, account, proofs, certificate: null }
    this.#orders.push(order)
    return [201, this.#show(order), `/order/${this.#orders.indexOf(order)}`]
  }

  #show(order: Order) {
    const number = this.#orders.indexOf(order)
    const is = (status: string) => order.proofs.every((proof) => proof.status === status)
    return {
      status: order.certificate !== null ? 'valid' : is('valid') ? 'ready' : is('pending') ? 'pending' : 'invalid',
      identifiers: order.names.map((value) => ({ type: 'dns', value })),
      authorizations: order.proofs.map((_proof, location) => `${this.url}/authorization/${number}/${location}`),
      finalize: `${this.url}/finalize/${number}`,
      ...(order.certificate !== null && { certificate: `${this.url}/certificate/${number}` }),
    }
  }

  #showProof(order: Order, location: number) {
    const proof = order.proofs[location]
    if (proof === undefined) throw new Error('no such name')
    const { name, token, status } = proof
    const url = `${this.url}/challenge/${this.#orders.indexOf(order)}/${location}`
    const failure = status === 'invalid' ? { error: { type: UNAUTHORIZED, detail: `no proof of ${name}` } } : {}
    const challenge = (type: string) => ({ type, status, url: `${url}/${type}`, token, ...failure })
    return {
      status,
      identifier: { type: 'dns', value: name.replace(/^\*\./, '') },
      ...(name.startsWith('*.') && { wildcard: true }),
      challenges: (name.startsWith('*.') ? ['dns-01'] : ['dns-01', 'http-01']).map(challenge),
    }
  }

  async #prove(order: Order, location: number, type: string, jwk: JWK): Promise<Answer> {
    const proof = order.proofs[location]
    if (proof === undefined) throw new Error('no such name')
    const wanted = `${proof.token}.${await calculateJwkThumbprint(jwk)}`
    const domain = proof.name.replace(/^\*\./, '')
    const seen =
      type === 'dns-01' ? await this.#seesRecord(domain, wanted) : await this.#seesPage(domain, proof.token, wanted)
    proof.status = seen ? 'valid' : 'invalid'
    return [200, this.#showProof(order, location).challenges.find((each) => each.type === type)]
  }

  async #seesRecord(domain: string, wanted: string): Promise<boolean> {
    const records = (await this.#sights.lookUp?.(`_acme-challenge.${domain}`)) ?? []
    return records.includes(createHash('sha256').update(wanted).digest('base64url'))
  }

  async #seesPage(domain: string, token: string, wanted: string): Promise<boolean> {
    return (await this.#sights.fetch?.(domain, token).catch(() => '')) === wanted
  }

  async #finalize(order: Order, csr: string): Promise<Answer> {
    const asked = new x509.Pkcs10CertificateRequest(Buffer.from(csr, 'base64url'))
    const extension = asked.extensions.find((each) => each instanceof x509.SubjectAlternativeNameExtension)
    const wanted = extension?.names.items.map(({ value }) => value) ?? []
    const isWhole = wanted.toSorted().join() === order.names.toSorted().join()
    if (!order.proofs.every(({ status }) => status === 'valid') || !isWhole || !(await asked.verify()))
      throw new Error('not what was proven')
    order.certificate = await this.#authority.sign(order.names, asked.publicKey)
    return [200, this.#show(order)]
  }
}
