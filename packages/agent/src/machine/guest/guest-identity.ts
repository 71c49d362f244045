import { randomBytes } from 'node:crypto'
import type { SandboxId } from '@offshoot/contract/ids'
import type { GuestAddress } from '@offshoot/guest-link/guest-refresh'
import { GUEST_GATEWAY, GUEST_IP } from '../vm/machine.ts'

/** Bytes of randomness a restored guest gets: twice what its kernel's pool needs to be full (256 bit). */
const ENTROPY_BYTES = 64

/** The identity of a guest that belongs to no sandbox: while its template is baked. */
export const PLACEHOLDER_ID = '00000000-0000-4000-8000-000000000000' as SandboxId
/** Its network. */
export const PLACEHOLDER_NETWORK = {
  mac: '02:0f:f5:00:00:00',
  address: { ip: GUEST_IP, prefixBits: 24, gateway: GUEST_GATEWAY, mtu: 1500 },
}

/** What tells one clone of a snapshot from another. */
export interface GuestIdentity {
  readonly time: Date
  readonly hostname: string
  readonly machineId: string
  /** Of its network interface, which keeps its address where there is none here. */
  readonly mac: string
  readonly address?: GuestAddress
  readonly entropy: Uint8Array
  /** `keep`: what the guest had where it is restored from. */
  readonly env: Readonly<Record<string, string>> | 'keep'
}

/**
 * @param env goes to the guest only: never to disk or log
 * @param network of its slot; `null`: it has QEMU's own network, where every guest is alike
 */
export function guestIdentity(
  id: SandboxId,
  env: GuestIdentity['env'],
  network: Required<Pick<GuestIdentity, 'mac' | 'address'>> | null,
): GuestIdentity {
  return {
    time: new Date(),
    hostname: `sbx-${id.slice(0, 8)}`,
    machineId: id.replaceAll('-', ''),
    ...(network ?? { mac: macOf(id) }),
    entropy: guestEntropy(),
    env,
  }
}

/** Locally administered (02): no maker of hardware has it. The id's first 40 bits are random. */
function macOf(id: SandboxId): string {
  return `02${id.replaceAll('-', '').slice(0, 10)}`.replaceAll(/..(?=.)/g, '$&:')
}

export function guestEntropy(): Buffer {
  return randomBytes(ENTROPY_BYTES)
}
