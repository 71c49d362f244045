import { GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../guest/command.ts'
import { visitSshServer } from '../guest/ssh-server.ts'
import { guestIdentity, PLACEHOLDER_ID, PLACEHOLDER_NETWORK } from '../guest/guest-identity.ts'
import type { NetworkKind } from '../vm/machine.ts'

const MAX_OUTPUT_BYTES = 4096
/** A server that is asked a few times: what a web app runs. */
const NODE_SERVER = `
const http = require('http')
let left = 8
const server = http.createServer((request, response) => response.end('ok')).listen(0, '127.0.0.1', ask)
function ask() {
  if (left-- === 0) return server.close()
  http.get({ host: '127.0.0.1', port: server.address().port, agent: false }, (answer) => answer.on('end', ask).resume())
}`
/**
 * What sandboxes and databases run first, if the image has it. None of it leaves anything that users can see, or runs what an
 * image's profile names.
 */
const FAMILIAR = [
  ['/bin/sh', '-c', 'cat; sync'],
  ['/bin/bash', '--noprofile', '--norc', '-ic', ':'],
  ['node', '-v'],
  ['node', '-e', 'console.log(process.version)'],
  ['node', '-e', NODE_SERVER],
  ['python3', '-B', '-c', 'print(1)'],
  ['git', '--version'],
  ['/usr/local/lib/offshoot-postgres/warm', '2'],
] as const

/**
 * Warms the page cache of a quiesced guest: it takes an identity and runs what sandboxes run first. The pages are then in the
 * baked memory, which all sandboxes share, and no sandbox has to read them from disk.
 */
export async function warmGuest(link: GuestLink, network: NetworkKind, deadline: Deadline): Promise<void> {
  await link.refresh(guestIdentity(PLACEHOLDER_ID, {}, network === 'tap' ? PLACEHOLDER_NETWORK : null), deadline)
    .settled
  await runFamiliarPrograms(link, deadline)
  await link.files.sync({ deadline })
  deadline.throwIfOver()
}

/**
 * Runs those programs once, and a session of the SSH server, which the agent asks for its banner in each sandbox.
 * @throws GuestLinkLost, DeadlineExceeded
 */
export async function runFamiliarPrograms(link: GuestLink, deadline: Deadline): Promise<void> {
  const options = { stdin: '', maxBytes: MAX_OUTPUT_BYTES, stop: deadline.signal }
  for (const argv of FAMILIAR) {
    await runCommand(link, { argv: [...argv] }, options).catch((error: unknown) => {
      // The image may not have it.
      if (!(error instanceof GuestRunError)) throw error
    })
  }
  await visitSshServer(link, deadline)
}
