import { GuestLinkLost } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'

const SSH_PORT = 22
/** The banner of every SSH server (RFC 4253, 4.2). 1.99 also means 2.0. */
const BANNER = /^SSH-(2\.0|1\.99)-/
const BANNER_BYTES = 9
/** Milliseconds for a server to serve a client that leaves at once. */
const VISIT_MS = 3000

/**
 * Whether an SSH server sends its banner on a connection inside a guest. Runs no program there: under TCG each new program
 * costs the guest megabytes of translated code.
 * @throws GuestRequestError if nothing listens; GuestLinkLost, DeadlineExceeded
 */
export async function answersSsh(link: GuestLink, deadline: Deadline, port = SSH_PORT): Promise<boolean> {
  const connection = await link.ports.dial(port, deadline)
  try {
    return BANNER.test(await deadline.race(firstBytes(connection.output)))
  } finally {
    connection.abort()
  }
}

/**
 * Lets the guest's SSH server, if it has one, serve a client that leaves at once, so that its code is in memory and translated.
 * Waits until the server has ended the session, so that no process of it is left. Servers make no host key before their client's
 * first message.
 * @throws GuestLinkLost, DeadlineExceeded
 */
export async function visitSshServer(link: GuestLink, deadline: Deadline, port = SSH_PORT): Promise<void> {
  const visit = deadline.within(VISIT_MS, 'session of an SSH server')
  try {
    const connection = await link.ports.dial(port, visit)
    connection.input.on('error', () => undefined).end()
    connection.output.on('error', () => undefined).resume()
    await visit.race(connection.closed).finally(() => connection.abort())
  } catch (error) {
    // Nothing listens there, or the server does something else.
    if (error instanceof GuestLinkLost) throw error
    deadline.throwIfOver()
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
