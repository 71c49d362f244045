import { fromWire } from './rename.ts'
import { broken, type Request, type Transport } from './transport.ts'

/**
 * A list that the service returns in pages. Iterate over it to get the entries of all pages:
 *
 *     for await (const sandbox of client.sandboxes.list()) …
 */
export class List<T> implements AsyncIterable<T> {
  readonly #transport: Transport
  readonly #request: Request
  readonly #present: (entry: unknown) => T

  constructor(transport: Transport, request: Request, present: (entry: unknown) => T = fromWire) {
    this.#transport = transport
    this.#request = request
    this.#present = present
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let { query } = this.#request
    for (;;) {
      const request = { ...this.#request, query }
      const response = await this.#transport.send(request)
      const entries = await broken(response.json(), request.signal, `${request.method} ${request.path}`)
      for (const entry of entries as unknown[]) yield this.#present(entry)
      const cursor = nextCursor(response.headers.get('link'))
      if (cursor === null) return
      query = { ...query, cursor }
    }
  }

  /** The entries of all pages. */
  async all(): Promise<T[]> {
    const entries: T[] = []
    for await (const entry of this) entries.push(entry)
    return entries
  }

  /** The first entries, `null` if there is none. */
  async first(): Promise<T | null> {
    for await (const entry of this) return entry
    return null
  }
}

/** The cursor in `<address>; rel="next"`. The address itself may be another name of the service. */
function nextCursor(link: string | null): string | null {
  const [, address] = /<([^>]*)>; rel="next"/.exec(link ?? '') ?? []
  return address === undefined ? null : new URL(address, 'http://localhost').searchParams.get('cursor')
}
