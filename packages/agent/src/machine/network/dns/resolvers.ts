import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'

/** Where the host's own names come from, the first that names somebody. */
const FILES = {
  /** systemd-resolved's: whom it asks itself. It answers for the host's own names too, which are no business of guests. */
  upstream: '/run/systemd/resolve/resolv.conf',
  own: '/etc/resolv.conf',
}
/** As the C library has it (resolv.conf(5)). */
const MAX_RESOLVERS = 3
const STUB = /^127\.0\.0\.5[34]$/
/** Milliseconds for which a file is taken to be as it was. */
const FRESH_MS = 5000

/** The name servers of the host, as its files say at the time. */
export class Resolvers {
  readonly #files: { readonly upstream: string; readonly own: string }
  #known: readonly string[] = []
  #readAtMs = -Infinity

  constructor(files = FILES) {
    this.#files = files
  }

  /** Addresses, in the order in which they are to be asked; empty: there are none. */
  async current(nowMs = performance.now()): Promise<readonly string[]> {
    if (nowMs - this.#readAtMs < FRESH_MS) return this.#known
    this.#readAtMs = nowMs
    const own = await readResolvers(this.#files.own)
    const isStub = own.length > 0 && own.every((address) => STUB.test(address))
    const upstream = isStub && (await isFile(this.#files.upstream)) ? await readResolvers(this.#files.upstream) : []
    this.#known = upstream.length > 0 ? upstream : own
    return this.#known
  }
}

async function readResolvers(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const named = [...text.matchAll(/^nameserver[ \t]+(\S+)/gm)].map(([, address = '']) => address)
  // Of an address with a zone, the kernel's own notation is not that of sockets everywhere; there is always another.
  return named.filter((address) => isIP(address) !== 0).slice(0, MAX_RESOLVERS)
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}
