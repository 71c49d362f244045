import { isIPv4 } from 'node:net'
import { constants } from 'node:os'
import {
  GUEST_ENVIRONMENT_MAX_ENTRIES,
  GUEST_MESSAGE_MAX_BYTES,
  RefreshField,
  RefreshOption,
} from '@offshoot/contract/guest-frame'
import { environmentStrings } from './guest-command.ts'
import { GuestRequestError } from './guest-link-error.ts'

/** The identity of a restored guest. The host sends it before any other request. */
export interface GuestRefresh {
  /** The current time: nanoseconds since 1970, or a Date. */
  readonly time: bigint | Date
  /** 1 to 63 of a-z, 0-9 and `-`. */
  readonly hostname: string
  /** 32 lower-case hex digits, see machine-id(5). */
  readonly machineId: string
  /** 32 to 512 bytes from the host's random source, never used twice. */
  readonly entropy: Uint8Array
  /**
   * The sandbox's variables, for the environment of every later command. `keep`: the guest keeps its present variables.
   */
  readonly env: Readonly<Record<string, string>> | 'keep'
  /** MAC address of `eth0`: six lower-case hex pairs with colons. Default: unchanged. */
  readonly mac?: string | undefined
  /** IPv4 configuration of `eth0`. Default: unchanged. */
  readonly address?: GuestAddress | undefined
  /** A bit for each spare block device that holds a volume. Default: unchanged. */
  readonly volumes?: number | undefined
}

/** The IPv4 configuration of a guest. The gateway is also its name server. */
export interface GuestAddress {
  readonly ip: string
  /** 1 to 30. */
  readonly prefixBits: number
  readonly gateway: string
  /** Bytes, 576 to 65535. */
  readonly mtu: number
}

/** Both promises reject with a GuestRequestError that names the failed step, DeadlineExceeded or GuestLinkLost. */
export interface RefreshProgress {
  /**
   * The guest has set clock, host name, random pool and variables. Requests may be sent; it serves them after the
   * refresh.
   */
  readonly begun: Promise<void>
  /** The refresh is complete, and the guest's processes run. */
  readonly settled: Promise<void>
}

/** @throws GuestRequestError E2BIG or EINVAL for a refresh that the guest would refuse */
export function encodeRefresh(refresh: GuestRefresh): Uint8Array {
  const env = refresh.env === 'keep' ? [] : environmentStrings(refresh.env)
  if (!/^[0-9a-f]{32}$/.test(refresh.machineId)) throw invalid('machine id')
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(refresh.hostname)) throw invalid('host name')
  if (env.some((string) => string.includes('\0'))) throw invalid('env')

  const fields = [
    ...(refresh.mac === undefined ? [] : encodeMac(refresh.mac)),
    ...(refresh.address === undefined ? [] : encodeAddress(refresh.address)),
    ...(refresh.volumes === undefined ? [] : [RefreshField.volumes, 1, refresh.volumes]),
  ]
  const head = Buffer.alloc(18)
  head.writeBigUInt64LE(guestTimeNs(refresh.time), 0)
  head.writeUInt16LE(refresh.env === 'keep' ? RefreshOption.keepEnv : 0, 8)
  head.writeUInt16LE(refresh.hostname.length, 10)
  head.writeUInt16LE(refresh.entropy.length, 12)
  head.writeUInt16LE(Math.min(env.length, 0xffff), 14)
  head.writeUInt16LE(fields.length, 16)
  const names = Buffer.from(refresh.hostname + refresh.machineId)
  const message = Buffer.concat([
    head,
    names,
    guestEntropy(refresh.entropy),
    Buffer.from(fields),
    Buffer.from(env.map((string) => `${string}\0`).join('')),
  ])
  if (env.length > GUEST_ENVIRONMENT_MAX_ENTRIES || message.length > GUEST_MESSAGE_MAX_BYTES) {
    throw new GuestRequestError(constants.errno.E2BIG, 'refresh: env is too long')
  }
  return message
}

function encodeMac(mac: string): readonly number[] {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(mac)) throw invalid('mac')
  return [RefreshField.mac, 6, ...Buffer.from(mac.replaceAll(':', ''), 'hex')]
}

function encodeAddress({ ip, prefixBits, gateway, mtu }: GuestAddress): readonly number[] {
  if (!isIPv4(ip) || !isIPv4(gateway)) throw invalid('address')
  if (!(prefixBits >= 1 && prefixBits <= 30)) throw invalid('prefix')
  if (!(mtu >= 576 && mtu <= 0xffff)) throw invalid('mtu')
  const value = [...bytesOf(ip), prefixBits, ...bytesOf(gateway), mtu & 0xff, mtu >> 8]
  return [RefreshField.address, value.length, ...value]
}

function bytesOf(ip: string): readonly number[] {
  return ip.split('.').map(Number)
}

export function guestTimeNs(time: bigint | Date): bigint {
  return time instanceof Date ? BigInt(time.getTime()) * 1_000_000n : time
}

/** @throws GuestRequestError EINVAL */
export function guestEntropy(entropy: Uint8Array): Uint8Array {
  if (entropy.length < 32 || entropy.length > 512) throw invalid('entropy')
  return entropy
}

const invalid = (what: string) => new GuestRequestError(constants.errno.EINVAL, `refresh: ${what}`)

/** What a held guest needs to continue with its own identity. */
export interface GuestRelease {
  /** The current time: nanoseconds since 1970, or a Date. */
  readonly time: bigint | Date
  /**
   * 32 to 512 bytes from the host's random source, never used twice: two VMs from one checkpoint must draw differently.
   */
  readonly entropy: Uint8Array
}

/** @throws GuestRequestError EINVAL for a release that the guest would refuse */
export function encodeRelease({ time, entropy }: GuestRelease): Uint8Array {
  const head = Buffer.alloc(8)
  head.writeBigUInt64LE(guestTimeNs(time))
  return Buffer.concat([head, guestEntropy(entropy)])
}
