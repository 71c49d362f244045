import type { SandboxId } from '@offshoot/contract/ids'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from './command.ts'
import { guestIdentity } from './guest-identity.ts'
import { GUEST_GATEWAY, GUEST_IP, type NetworkKind } from './machine.ts'

const NOBODY = '00000000-0000-4000-8000-000000000000'
/** What sandboxes are told of theirs, they are told anew. */
const NOWHERE = {
  mac: '02:0f:f5:00:00:00',
  address: { ip: GUEST_IP, prefixBits: 24, gateway: GUEST_GATEWAY, mtu: 1500 },
}
const MAX_OUTPUT_BYTES = 4096

/**
 * Has a quiesced guest do once what every sandbox does first: take an identity, run a shell. What that reads is then in
 * the frozen memory, which all sandboxes share, instead of being read from disk by each.
 */
export async function warmGuest(link: GuestLink, network: NetworkKind, deadline: Deadline): Promise<void> {
  await link.refresh(guestIdentity(NOBODY as SandboxId, {}, network === 'tap' ? NOWHERE : null), deadline).settled
  const options = { stdin: '', maxBytes: MAX_OUTPUT_BYTES, stop: deadline.signal }
  await runCommand(link, { argv: ['/bin/sh', '-c', 'cat; sync'] }, options)
  deadline.throwIfOver()
}
