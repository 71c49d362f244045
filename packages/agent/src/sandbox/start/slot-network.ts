import type { GuestIdentity } from '../../machine/guest/guest-identity.ts'
import type { TapGiver } from '../../machine/vm/confinement.ts'
import type { HostPlatform } from '../model/host.ts'

/** The TAP for the VM in a slot. `null` if guests use QEMU's own network. */
export function tapOf({ network, withTap }: HostPlatform, slot: number): TapGiver | null {
  return network === null ? null : { program: withTap, tap: network.addressOf(slot).tap }
}

/** The network settings for the guest in a slot. */
export function networkIdentity(
  { network }: HostPlatform,
  slot: number,
): Required<Pick<GuestIdentity, 'mac' | 'address'>> | null {
  return network === null ? null : network.identityOf(slot)
}
