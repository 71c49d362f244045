import type { SandboxId } from '@offshoot/contract/ids'
import { GUEST_GATEWAY, GUEST_IP } from '../vm/machine.ts'

/** Who a guest is that is no sandbox's. */
export const PLACEHOLDER_ID = '00000000-0000-4000-8000-000000000000' as SandboxId
/** Where it is. */
export const PLACEHOLDER_NETWORK = {
  mac: '02:0f:f5:00:00:00',
  address: { ip: GUEST_IP, prefixBits: 24, gateway: GUEST_GATEWAY, mtu: 1500 },
}
