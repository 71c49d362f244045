import { randomBytes } from 'node:crypto'
import type { SandboxId } from '@offshoot/contract/ids'
import type { GuestAddress } from '@offshoot/guest-link/guest-refresh'
import { GUEST_GATEWAY, GUEST_IP } from '../vm/machine.ts'

/** Bytes of randomness for a restored guest: twice what its kernel needs to initialize its random number generator (256 bits). */
const ENTROPY_BYTES = 64

/** The sandbox id of a guest that belongs to no sandbox, while its template is baked. */
export const PLACEHOLDER_ID = '00000000-0000-4000-8000-000000000000' as SandboxId
/** Its network configuration. */
export const PLACEHOLDER_NETWORK = {
  mac: '02:0f:f5:00:00:00',
  address: { ip: GUEST_IP, prefixBits: 24, gateway: GUEST_GATEWAY, mtu: 1500 },
}

/** The values that distinguish guests that were restored from the same snapshot. */
export interface GuestIdentity {
  readonly time: Date
  readonly hostname: string
  readonly machineId: string
  /** MAC address of the network interface. Without `address` the guest keeps its IP address. */
  readonly mac: string
  readonly address?: GuestAddress
  readonly entropy: Uint8Array
  /** `keep`: the variables in the restored memory stay. */
  readonly env: Readonly<Record<string, string>> | 'keep'
}

/**
 * @param env sent to the guest only, never written to disk or to a log: it may contain secrets
 * @param network of the guest's slot; `null`: QEMU's user network, in which all guests have the same address
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

/** Locally administered (02), so that it collides with no hardware. The first 40 bits of the id are random. */
function macOf(id: SandboxId): string {
  return `02${id.replaceAll('-', '').slice(0, 10)}`.replaceAll(/..(?=.)/g, '$&:')
}

export function guestEntropy(): Buffer {
  return randomBytes(ENTROPY_BYTES)
}
