import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'

/** The host's resolver configuration. */
const FILES = {
  /** The upstream servers of systemd-resolved. Its stub also answers for the host's local names, which guests must not see. */
  upstream: '/run/systemd/resolve/resolv.conf',
  own: '/etc/resolv.conf',
}
/** MAXNS of the C library (resolv.conf(5)). */
const MAX_RESOLVERS = 3
const STUB = /^127\.0\.0\.5[34]$/
/** Milliseconds for which the parsed files are cached. */
const FRESH_MS = 5000

/** The name servers of the host, from its current configuration files. */
export class Resolvers {
  readonly #files: { readonly upstream: string; readonly own: string }
  #known: readonly string[] = []
  #readAtMs = -Infinity

  constructor(files = FILES) {
    this.#files = files
  }

  /** Addresses in the order in which to query them; empty if the host has none. */
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
  // The C library ignores entries that are no address, too.
  return named.filter((address) => isIP(address) !== 0).slice(0, MAX_RESOLVERS)
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}
