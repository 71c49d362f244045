import { GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../guest/command.ts'
import { guestIdentity, PLACEHOLDER_ID, PLACEHOLDER_NETWORK } from '../guest/guest-identity.ts'
import type { NetworkKind } from '../vm/machine.ts'

const MAX_OUTPUT_BYTES = 4096

/**
 * Has a quiesced guest do once what every sandbox does first: take an identity, run a shell. What that reads is then in
 * the frozen memory, which all sandboxes share, instead of being read from disk by each.
 */
export async function warmGuest(link: GuestLink, network: NetworkKind, deadline: Deadline): Promise<void> {
  await link.refresh(guestIdentity(PLACEHOLDER_ID, {}, network === 'tap' ? PLACEHOLDER_NETWORK : null), deadline)
    .settled
  const options = { stdin: '', maxBytes: MAX_OUTPUT_BYTES, stop: deadline.signal }
  await runCommand(link, { argv: ['/bin/sh', '-c', 'cat; sync'] }, options).catch((error: unknown) => {
    // An image without a shell.
    if (!(error instanceof GuestRunError)) throw error
  })
  await link.files.sync({ deadline })
  deadline.throwIfOver()
}
