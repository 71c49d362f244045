import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'

const SSH_PORT = 22
/** What every SSH server says first (RFC 4253, 4.2); 1.99 speaks 2.0 too. */
const BANNER = /^SSH-(2\.0|1\.99)-/
const BANNER_BYTES = 9

/**
 * Whether an SSH server answers inside a guest: its first bytes, over a connection made there. No program is started for
 * it: under emulation each one that runs costs a guest megabytes of translated code.
 */
export async function answersSsh(link: GuestLink, deadline: Deadline): Promise<boolean> {
  const connection = await link.ports.dial(SSH_PORT, deadline)
  try {
    return BANNER.test(await deadline.race(firstBytes(connection.output)))
  } finally {
    connection.abort()
  }
}

async function firstBytes(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += chunk.toString('latin1')
    if (text.length >= BANNER_BYTES) break
  }
  return text
}
