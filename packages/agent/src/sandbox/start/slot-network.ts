import type { GuestIdentity } from '../../machine/guest/guest-identity.ts'
import type { TapGiver } from '../../machine/vm/confinement.ts'
import type { HostPlatform } from '../model/host.ts'

/** What the VM of a slot is started with; `null` where guests have QEMU's own network. */
export function tapOf({ network, withTap }: HostPlatform, slot: number): TapGiver | null {
  return network === null ? null : { program: withTap, tap: network.addressOf(slot).tap }
}

/** What the guest of a slot is told of its network. */
export function networkIdentity(
  { network }: HostPlatform,
  slot: number,
): Required<Pick<GuestIdentity, 'mac' | 'address'>> | null {
  return network === null ? null : network.identityOf(slot)
}
