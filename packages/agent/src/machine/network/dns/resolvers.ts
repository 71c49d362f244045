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
const LOOPBACK = /^(127\.|::1$)/
/** Milliseconds for which the parsed files are cached. */
const FRESH_MS = 5000

/** The name servers of the host, from its current configuration files. */
export class Resolvers {
  readonly #files: { readonly upstream: string; readonly own: string }
  readonly #loopback: string | null
  #known: readonly string[] = []
  #readAtMs = -Infinity

  /** @param loopback stands for the name servers on the host's loopback; `null`: they are reached as they are */
  constructor(files = FILES, loopback: string | null = null) {
    this.#files = files
    this.#loopback = loopback
  }

  /** Addresses in the order in which to query them; empty if the host has none. */
  async current(nowMs = performance.now()): Promise<readonly string[]> {
    if (nowMs - this.#readAtMs < FRESH_MS) return this.#known
    this.#readAtMs = nowMs
    const own = await readResolvers(this.#files.own)
    const isStub = own.length > 0 && own.every((address) => STUB.test(address))
    const upstream = isStub && (await isFile(this.#files.upstream)) ? await readResolvers(this.#files.upstream) : []
    const named = upstream.length > 0 ? upstream : own
    this.#known = [...new Set(named.map((address) => this.#reachable(address)))]
    return this.#known
  }

  #reachable(address: string): string {
    return this.#loopback !== null && LOOPBACK.test(address) ? this.#loopback : address
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
