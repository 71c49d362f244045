import { readFile } from 'node:fs/promises'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { TlsSettings } from '@offshoot/contract/control-settings'
import type { FastifyInstance } from 'fastify'

/** Milliseconds between two looks at the files. Programs that renew certificates replace them, often by links. */
const LOOK_MS = 10_000
/** Events that the plain server handles. Everything else about HTTP is the same for both. */
const HANDLED = ['request', 'upgrade', 'checkContinue', 'checkExpectation', 'clientError'] as const

/**
 * Serves the same API with TLS, beside the plain address on loopback that the other processes use. When the files of the
 * certificate change, new connections get the new certificate. Files that do not fit change nothing.
 */
export class TlsListener {
  readonly #server: Server
  readonly #settings: TlsSettings
  readonly #log: FastifyInstance['log']
  readonly #timer: NodeJS.Timeout
  #loaded: string

  private constructor(server: Server, settings: TlsSettings, log: FastifyInstance['log'], loaded: string) {
    this.#server = server
    this.#settings = settings
    this.#log = log
    this.#loaded = loaded
    this.#timer = setInterval(() => void this.#reload(), LOOK_MS)
    this.#timer.unref()
  }

  /** @throws Error if the files hold no certificate and key that fit, or the address is taken */
  static async start(app: FastifyInstance, settings: TlsSettings, options: ServerOptions): Promise<TlsListener> {
    const pem = await readPem(settings)
    createSecureContext(pem)
    const { keepAliveTimeout, requestTimeout } = app.server
    const server = createServer({ ...options, ...pem, keepAliveTimeout, requestTimeout, minVersion: 'TLSv1.2' })
    for (const event of HANDLED) server.on(event, (...all) => void app.server.emit(event, ...all))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    server.once('error', reject)
    server.listen(settings.port, settings.host, resolve)
    await promise
    app.log.info({ address: server.address() as AddressInfo }, 'listening with TLS')
    return new TlsListener(server, settings, app.log, pem.cert + pem.key)
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
      const pem = await readPem(this.#settings)
      if (pem.cert + pem.key === this.#loaded) return
      // Throws if they do not fit, for example between the replacements of the two files.
      this.#server.setSecureContext({ ...pem, minVersion: 'TLSv1.2' })
      this.#loaded = pem.cert + pem.key
      this.#log.info('the certificate was replaced')
    } catch (error) {
      this.#log.warn({ err: error }, 'the new certificate cannot be used; the earlier one stays')
    }
  }
}

async function readPem({ cert, key }: TlsSettings): Promise<{ cert: string; key: string }> {
  return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
}
