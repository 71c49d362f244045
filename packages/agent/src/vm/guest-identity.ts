import { randomBytes } from 'node:crypto'
import type { SandboxId } from '@offshoot/contract/ids'

/** Bytes of randomness a restored guest gets: twice what its kernel's pool needs to be full (256 bit). */
const ENTROPY_BYTES = 64

/** What tells one clone of a snapshot from another. */
export interface GuestIdentity {
  readonly time: Date
  readonly hostname: string
  readonly machineId: string
  readonly entropy: Uint8Array
  /** `keep`: what the guest had where it is restored from. */
  readonly env: Readonly<Record<string, string>> | 'keep'
}

/** @param env goes to the guest only: never to disk or log */
export function guestIdentity(id: SandboxId, env: GuestIdentity['env']): GuestIdentity {
  return {
    time: new Date(),
    hostname: `sbx-${id.slice(0, 8)}`,
    machineId: id.replaceAll('-', ''),
    entropy: guestEntropy(),
    env,
  }
}

export function guestEntropy(): Buffer {
  return randomBytes(ENTROPY_BYTES)
}
