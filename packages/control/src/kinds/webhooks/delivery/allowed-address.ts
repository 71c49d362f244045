import { Resolver } from 'node:dns/promises'
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Addresses that are not public: private, shared, link-local with the metadata services, tests, multicast. */
const RESERVED = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]
/**
 * Only these IPv6 addresses are public. The rest of them is loopback, local, mapped IPv4 or multicast. Those below
 * {@link RESERVED_6} are tunnels to IPv4 addresses, and examples.
 */
const PUBLIC_6 = '2000::/3'
const RESERVED_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']
/** Milliseconds for one name server's answer, and the number of queries to each. */
const ANSWER_MS = 2_000
const TRIES = 2
/** Addresses of a name that are looked at. */
const MAX_ADDRESSES = 16

export interface Address {
  readonly address: string
  readonly family: 4 | 6
}

/** The address is not public, and the operator has not allowed it. */
export class ForbiddenAddress extends Error {}

/** Resolves the names of webhooks, and refuses addresses that users of the service must not reach through it. */
export class AllowedAddresses {
  readonly #allowed: BlockList
  readonly #resolver: Resolver | null

  /**
   * @param networks not public, but allowed: addresses or `address/bits`
   * @param servers name servers; none: the host's own configuration
   */
  constructor(networks: readonly string[], servers: readonly string[]) {
    this.#allowed = listOf(networks)
    this.#resolver = servers.length === 0 ? null : new Resolver({ timeout: ANSWER_MS, tries: TRIES })
    this.#resolver?.setServers(servers)
  }

  /**
   * The addresses of a host, all of which are allowed. Connect to these and do not resolve the name again: its next
   * answer may be another one.
   * @param hostname of a URL: an IPv6 address stands in brackets
   * @throws ForbiddenAddress one of them is not allowed
   * @throws Error the name has no address
   */
  async resolve(hostname: string): Promise<readonly Address[]> {
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const family = isIP(host)
    const found = family === 0 ? await this.#lookUp(host) : [{ address: host, family: family as 4 | 6 }]
    if (found.length === 0) throw new Error('the name has no address')
    if (!found.every((each) => this.isAllowed(each))) throw new ForbiddenAddress('the address is not public')
    return found.slice(0, MAX_ADDRESSES)
  }

  isAllowed({ address, family }: Address): boolean {
    const type = family === 4 ? 'ipv4' : 'ipv6'
    if (this.#allowed.check(address, type)) return true
    if (family === 4) return !PRIVATE_4.check(address, type) && !isOwn(address)
    return PUBLIC.check(address, type) && !PRIVATE_6.check(address, type) && !isOwn(address)
  }

  async #lookUp(host: string): Promise<Address[]> {
    const resolver = this.#resolver
    if (resolver === null) {
      return (await lookup(host, { all: true })).map(({ address, family }) => ({
        address,
        family: family === 6 ? 6 : 4,
      }))
    }
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
    return [...of(four, 4), ...of(six, 6)]
  }
}

const of = (result: PromiseSettledResult<string[]>, family: 4 | 6) =>
  result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []

const PRIVATE_4 = listOf(RESERVED)
const PRIVATE_6 = listOf(RESERVED_6)
const PUBLIC = listOf([PUBLIC_6])

/** Services of this host that a firewall hides from others would see a request from within. */
function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some((each) => each.address === address))
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const type = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, type)
    else list.addSubnet(address, Number(bits), type)
  }
  return list
}
