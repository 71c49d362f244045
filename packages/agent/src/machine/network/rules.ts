import type { EgressException } from '@offshoot/contract/egress-exception'
import { RESERVED_NETWORKS } from '@offshoot/contract/reserved-networks'
import { TAP_PREFIX, type SlotAddress } from './slot-address.ts'

/**
 * What the guests of one block of slots may, as text for nft(8). One table a block, so that agents of one host never
 * touch each other's. Whether a guest has a way out is one element of the set `internet`; everything else of a slot stands
 * here before its VM does, and needs no change when one comes or goes.
 */
export interface Rules {
  readonly table: string
  readonly slots: readonly SlotAddress[]
  /** The block's network, and that of all guests of all agents. */
  readonly network: string
  readonly guestRange: string
  /** Names of TAPs that have a way out. */
  readonly internet: readonly string[]
  /** What each TAP was refused so far, where that is not nothing. */
  readonly refused: ReadonlyMap<string, number>
  /** Bytes a second of TAPs that have fewer than {@link GuestLimits} says. */
  readonly rates: ReadonlyMap<string, number>
  readonly exceptions: readonly EgressException[]
  /** Where the agent answers for names; `null` where it does not. */
  readonly dnsPort: number | null
  readonly limits: GuestLimits
}

export interface GuestLimits {
  /** In each direction, of a guest that has no rate of its own. */
  readonly bytesPerSecond: number
  /** Connections at a time that a guest has opened. */
  readonly connections: number
}

/** Questions to the name server a second, and at once. */
const QUESTIONS_PER_SECOND = 200
const QUESTIONS_BURST = 400
/** Bytes above its rate that a guest may send or get at once: an eighth of a second of it, and a full window at least. */
const BURST_SHARE = 8
const MIN_BURST_BYTES = 256 * 1024
/** Of TAPs, by what passes there. */
const DYNAMIC = 'type ifname; size 1024; flags dynamic'
const REFUSE = ['meta l4proto tcp reject with tcp reset', 'reject with icmpx type admin-prohibited']

/** In place of a table of this name, if there is one, in a single transaction. */
export function formatRules(rules: Rules): string {
  const { table } = rules
  return [
    `add table inet ${table}`,
    `delete table inet ${table}`,
    `table inet ${table} {`,
    ...sets(rules),
    ...chains(rules),
    ...ratesIn(rules).flatMap((rate) => heldSets(rate, tapsAt(rules, rate))),
    '}',
    ...ratesIn(rules).flatMap((rate) => heldRules(table, rate)),
    '',
  ].join('\n')
}

/** One more rate in a table that has none of its guests at it, as the kernel makes it in one transaction with what follows. */
export function formatRate(table: string, rate: number): string {
  return [`table inet ${table} {`, ...heldSets(rate, []), '}', ...heldRules(table, rate), ''].join('\n')
}

/** The set of TAPs that are held to a rate. */
export function heldSet(rate: number): string {
  return `held_${rate}`
}

/** Sets of the TAPs at a rate, and of what each of them has sent and received. */
function heldSets(rate: number, taps: readonly string[]): string[] {
  const counted = [`sent_${rate}`, `received_${rate}`].map((name) => set(name, DYNAMIC, []))
  return [set(heldSet(rate), 'type ifname', taps.map(quote)), ...counted]
}

/** Beside the rate of every guest, which is higher. */
function heldRules(table: string, rate: number): string[] {
  const held = `@${heldSet(rate)}`
  return [
    `add rule inet ${table} sending iifname ${held} update @sent_${rate} { iifname ${over(rate)} } drop`,
    `add rule inet ${table} getting oifname ${held} update @received_${rate} { oifname ${over(rate)} } drop`,
  ]
}

function ratesIn({ rates }: Rules): number[] {
  return [...new Set(rates.values())]
}

function tapsAt({ rates }: Rules, rate: number): string[] {
  return [...rates].flatMap(([tap, own]) => (own === rate ? [tap] : []))
}

/** Matches as soon as more than so many bytes a second pass. */
function over(bytesPerSecond: number): string {
  const burst = Math.max(MIN_BURST_BYTES, Math.ceil(bytesPerSecond / BURST_SHARE))
  return `limit rate over ${bytesPerSecond} bytes/second burst ${burst} bytes`
}

function sets({ slots, internet, refused }: Rules): string[] {
  const counted = (tap: string) => `"${tap}" counter packets ${refused.get(tap) ?? 0} bytes 0`
  return [
    set(
      'guests',
      'type ifname',
      slots.map(({ tap }) => quote(tap)),
    ),
    set(
      'sources',
      'type ifname . ether_addr . ipv4_addr',
      slots.map(({ tap, mac, ip }) => `${quote(tap)} . ${mac} . ${ip}`),
    ),
    set(
      'gateways',
      'type ifname . ipv4_addr',
      slots.map(({ tap, gateway }) => `${quote(tap)} . ${gateway}`),
    ),
    set('internet', 'type ifname', internet.map(quote)),
    set(
      'refused',
      'type ifname; counter',
      slots.map(({ tap }) => counted(tap)),
    ),
    set('reserved', 'type ipv4_addr; flags interval', RESERVED_NETWORKS),
    ...['sent', 'received', 'asked'].map((name) => set(name, DYNAMIC, [])),
    set('opened', 'type ipv4_addr; size 1024; flags dynamic', []),
  ]
}

function chains({ network, guestRange, exceptions, dnsPort, limits }: Rules): string[] {
  const { bytesPerSecond, connections } = limits
  const toDns = 'meta l4proto { tcp, udp } th dport'
  const questions = `limit rate over ${QUESTIONS_PER_SECOND}/second burst ${QUESTIONS_BURST} packets`
  const dns = {
    redirect: [`iifname @internet iifname . ip daddr @gateways ${toDns} 53 redirect to :${dnsPort}`],
    answer: [
      // Guests of the agent's other blocks have rules of their own.
      `iifname != "${TAP_PREFIX}*" iifname != "lo" ${toDns} ${dnsPort} drop`,
      `iifname @internet ${toDns} ${dnsPort} ct state new update @asked { iifname ${questions} } drop`,
      `iifname @internet ${toDns} ${dnsPort} accept`,
    ],
  }
  return [
    // Before the kernel notes a connection: what a guest sends under another's name leaves no trace.
    chain('arriving', 'filter hook prerouting priority raw', [
      'iifname != @guests accept',
      'meta nfproto ipv6 drop',
      'iifname . ether saddr . ip saddr != @sources drop',
      `update @sent { iifname ${over(bytesPerSecond)} } drop`,
      'jump sending',
    ]),
    chain('named', 'nat hook prerouting priority dstnat', dnsPort === null ? [] : dns.redirect),
    chain('to_host', 'filter hook input priority filter', [
      ...(dnsPort === null ? [] : dns.answer),
      'iifname != @guests accept',
      'ct state { established, related } accept',
      ...exceptions.map((exception) => `iifname @internet ${toward(exception)} accept`),
      'goto refuse',
    ]),
    chain('through', 'filter hook forward priority filter', [
      'iifname @guests goto leaving',
      'oifname != @guests accept',
      'ct state != { established, related } drop',
      `update @received { oifname ${over(bytesPerSecond)} } drop`,
      'jump getting',
    ]),
    chain('sending', null, []),
    chain('getting', null, []),
    chain('leaving', null, [
      // What the kernel cannot place would leave with the guest's own address.
      'ct state invalid drop',
      'ct state { established, related } accept',
      'iifname != @internet goto refuse',
      `ip daddr ${guestRange} goto refuse`,
      ...exceptions.map((exception) => `${toward(exception)} goto open`),
      'ip daddr @reserved goto refuse',
      'goto open',
    ]),
    chain('open', null, [
      `add @opened { ip saddr ct count over ${connections} } goto refuse`,
      'tcp flags syn tcp option maxseg size set rt mtu',
      'accept',
    ]),
    chain('refuse', null, ['iifname @refused', ...REFUSE]),
    chain('masked', 'nat hook postrouting priority srcnat', [`ip saddr ${network} oifname != @guests masquerade`]),
  ]
}

function quote(name: string): string {
  return `"${name}"`
}

function toward({ cidr, port }: EgressException): string {
  return `ip daddr ${cidr} meta l4proto { tcp, udp } th dport ${port}`
}

function set(name: string, type: string, elements: readonly string[]): string {
  const listed = elements.length === 0 ? '' : `\n    elements = { ${elements.join(', ')} }`
  return `  set ${name} {\n    ${type.replaceAll('; ', '\n    ')}${listed}\n  }`
}

function chain(name: string, hook: string | null, lines: readonly string[]): string {
  const head = hook === null ? [] : [`type ${hook}; policy accept;`]
  return [`  chain ${name} {`, ...[...head, ...lines].map((line) => `    ${line}`), '  }'].join('\n')
}
