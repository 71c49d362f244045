import type { SandboxId } from '@offshoot/contract/ids'
import { GUEST_GATEWAY, GUEST_IP } from '../vm/machine.ts'

/** The identity of a guest that belongs to no sandbox: while its template is baked. */
export const PLACEHOLDER_ID = '00000000-0000-4000-8000-000000000000' as SandboxId
/** Its network. */
export const PLACEHOLDER_NETWORK = {
  mac: '02:0f:f5:00:00:00',
  address: { ip: GUEST_IP, prefixBits: 24, gateway: GUEST_GATEWAY, mtu: 1500 },
}
