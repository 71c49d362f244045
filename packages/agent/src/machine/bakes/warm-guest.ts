import { GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../guest/command.ts'
import { guestIdentity, PLACEHOLDER_ID, PLACEHOLDER_NETWORK } from '../guest/guest-identity.ts'
import type { NetworkKind } from '../vm/machine.ts'

const MAX_OUTPUT_BYTES = 4096

/**
 * Warms the page cache of a quiesced guest: it takes an identity and runs a shell, as every sandbox does first. The pages are
 * then in the baked memory, which all sandboxes share, and no sandbox has to read them from disk.
 */
export async function warmGuest(link: GuestLink, network: NetworkKind, deadline: Deadline): Promise<void> {
  await link.refresh(guestIdentity(PLACEHOLDER_ID, {}, network === 'tap' ? PLACEHOLDER_NETWORK : null), deadline)
    .settled
  const options = { stdin: '', maxBytes: MAX_OUTPUT_BYTES, stop: deadline.signal }
  await runCommand(link, { argv: ['/bin/sh', '-c', 'cat; sync'] }, options).catch((error: unknown) => {
    // The image may have no shell.
    if (!(error instanceof GuestRunError)) throw error
  })
  await link.files.sync({ deadline })
  deadline.throwIfOver()
}
