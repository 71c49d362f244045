import { guestEntropy, guestTimeNs } from './guest-refresh.ts'

/** What a guest needs that goes on as itself after it stood still. */
export interface GuestRelease {
  /** The present: nanoseconds since 1970, or a Date. */
  readonly time: bigint | Date
  /** 32 to 512 bytes from the host's random source, never used twice: what is restored twice must not draw alike. */
  readonly entropy: Uint8Array
}

/** @throws GuestRequestError EINVAL, for what the guest could only refuse */
export function encodeRelease({ time, entropy }: GuestRelease): Uint8Array {
  const head = Buffer.alloc(8)
  head.writeBigUInt64LE(guestTimeNs(time))
  return Buffer.concat([head, guestEntropy(entropy)])
}
