import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { TlsSettings } from '@offshoot/contract/control-settings'
import type { FastifyInstance } from 'fastify'

/** Milliseconds between two looks at the files. Programs that renew certificates replace them, often by links. */
const LOOK_MS = 10_000
const OLDEST = { minVersion: 'TLSv1.2' } as const
/** Events that the plain server handles. Everything else about HTTP is the same for both. */
const HANDLED = ['request', 'upgrade', 'checkContinue', 'checkExpectation', 'clientError'] as const

/** PEM: the certificate with its chain, and the private key. */
export interface Pem {
  readonly cert: string
  readonly key: string
}

/** Where the certificate comes from. */
export interface CertificateSource {
  /** Milliseconds between two looks. */
  readonly lookMs: number
  /** `null`: there is none yet, or it is the same as before. */
  readonly read: () => Promise<Pem | null>
}

/** @param paths of PEM files */
export function certificateFiles({ cert, key }: Pem): CertificateSource {
  return {
    lookMs: LOOK_MS,
    read: async () => ({ cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }),
  }
}

/**
 * Serves the same API with TLS, beside the plain address on loopback that the other processes use. When the source has
 * another certificate, new connections get it. A certificate and a key that do not fit change nothing. Until the first
 * certificate, connections are refused.
 */
export class TlsListener {
  readonly #server: Server
  readonly #source: CertificateSource
  readonly #log: FastifyInstance['log']
  readonly #timer: NodeJS.Timeout
  #loaded: Pem | null

  private constructor(server: Server, source: CertificateSource, log: FastifyInstance['log'], loaded: Pem | null) {
    this.#server = server
    this.#source = source
    this.#log = log
    this.#loaded = loaded
    this.#timer = setInterval(() => void this.#reload(), source.lookMs)
    this.#timer.unref()
  }

  /** @throws Error if the source has a certificate and a key that do not fit, or the address is taken */
  static async start(
    app: FastifyInstance,
    settings: Pick<TlsSettings, 'host' | 'port'>,
    source: CertificateSource,
    options: ServerOptions,
  ): Promise<TlsListener> {
    const pem = await source.read()
    if (pem !== null) createSecureContext(pem)
    const { keepAliveTimeout, requestTimeout } = app.server
    const server = createServer({ ...options, ...pem, ...OLDEST, keepAliveTimeout, requestTimeout })
    for (const event of HANDLED) server.on(event, (...all) => void app.server.emit(event, ...all))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    server.once('error', reject)
    server.listen(settings.port, settings.host, resolve)
    await promise
    app.log.info({ address: server.address() as AddressInfo }, 'listening with TLS')
    if (pem === null) app.log.warn('there is no certificate yet: connections with TLS are refused')
    return new TlsListener(server, source, app.log, pem)
  }

  /** Unix time at which the certificate expires; 0 if there is none yet. */
  get expiresAtSeconds(): number {
    return this.#loaded === null ? 0 : Date.parse(new X509Certificate(this.#loaded.cert).validTo) / 1_000
  }

  /** Accepts no connections any more. @returns when the last one has ended */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    await promise
  }

  closeIdleConnections(): void {
    this.#server.closeIdleConnections()
  }

  closeAllConnections(): void {
    this.#server.closeAllConnections()
  }

  async #reload(): Promise<void> {
    try {
      const pem = await this.#source.read()
      if (pem === null || (pem.cert === this.#loaded?.cert && pem.key === this.#loaded.key)) return
      // Throws if they do not fit, for example between the replacements of the two files.
      this.#server.setSecureContext({ ...pem, ...OLDEST })
      this.#loaded = pem
      this.#log.info('the certificate was replaced')
    } catch (error) {
      this.#log.warn({ err: error }, 'the new certificate cannot be used; the earlier one stays')
    }
  }
}
