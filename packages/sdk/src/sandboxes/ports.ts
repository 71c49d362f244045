import type { Port } from '../generated/models.ts'
import type { Scope } from '../http/scope.ts'
import type { CallOptions } from '../http/transport.ts'
import { waitFor } from '../http/wait.ts'
import { Links } from './links.ts'

const DEFAULT_WAIT_MS = 60_000

/** The TCP ports of a sandbox, each with an address for browsers. */
export class Ports {
  readonly #scope: Scope

  /** @internal */
  constructor(scope: Scope) {
    this.#scope = scope
  }

  /** The ports that have a label, and those on which something listens. */
  async list(options: CallOptions = {}): Promise<Port[]> {
    return this.#scope.get('GET /v1/sandboxes/{id}/ports', options)
  }

  /** The address of a port, whether something listens on it or not. Names the port if it has no name. */
  async url(port: number, options: CallOptions = {}): Promise<string> {
    const known = (await this.list(options)).find((each) => each.port === port)
    return (known ?? (await this.add(port, options))).url
  }

  /** Lists a port, with a label for people. */
  async add(port: number, { label, ...options }: CallOptions & { readonly label?: string } = {}): Promise<Port> {
    return this.#scope.call('POST /v1/sandboxes/{id}/ports', {
      ...options,
      body: { port, ...(label !== undefined && { label }) },
      isIdempotent: true,
    })
  }

  /** The links that open the port while the sandbox's `visibility` is `private`. */
  links(port: number): Links {
    return new Links(this.#scope.with({ port: String(port) }), 'port')
  }

  /** Removes the label of a port. What listens on it stays. */
  async remove(port: number, options: CallOptions = {}): Promise<void> {
    await this.#scope.delete('DELETE /v1/sandboxes/{id}/ports/{port}', options, { path: { port: String(port) } })
  }

  /** Waits until something listens on a port. `timeoutMs`: default one minute. @throws TimeoutError */
  async wait(port: number, { timeoutMs = DEFAULT_WAIT_MS, ...options }: CallOptions = {}): Promise<Port> {
    return waitFor(`waiting for a listener on port ${port}`, { timeoutMs, ...options }, async (call) => {
      return (await this.list(call)).find((each) => each.port === port && each.listening) ?? null
    })
  }
}
