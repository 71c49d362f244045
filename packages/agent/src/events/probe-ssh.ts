import { text } from 'node:stream/consumers'
import { GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../vm/command.ts'

/** An entry of /proc/net/tcp: port 22 of any own address, no peer, LISTEN. */
const LISTENS = /^ *\d+: [0-9A-F]+:0016 [0-9A-F]+:0000 0A /m
const MAX_TABLE_BYTES = 256 * 1024
/** What every SSH server says first (RFC 4253, 4.2); 1.99 speaks 2.0 too. */
const BANNER = /^SSH-(2\.0|1\.99)-/
const BANNER_BYTES = 9

/**
 * The ways to read it, the first that is there: bash connects by itself, busybox has nc. No shell around bash: under
 * emulation every program that runs costs a guest megabytes of translated code.
 */
const READERS = [
  ['/bin/bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/22 && read -r -t 5 -n ${BANNER_BYTES} b <&3; echo "$b"`],
  ['/bin/sh', '-c', `nc -w 5 127.0.0.1 22 </dev/null | head -c ${BANNER_BYTES}`],
] as const

/**
 * Whether an SSH server answers inside a guest: its first bytes, read by a connection made there.
 * A guest in which nobody listens on the port is asked for no more than a file, which starts no program.
 */
export async function answersSsh(link: GuestLink, deadline: Deadline): Promise<boolean> {
  if (!(await listensOnSshPort(link, deadline))) return false
  const options = { stdin: undefined, maxBytes: BANNER_BYTES, stop: deadline.signal }
  for (const argv of READERS) {
    const end = await runCommand(link, { argv }, options).catch(ifMissing)
    if (end !== null) return BANNER.test(end.stdout.bytes.toString('latin1'))
  }
  return false
}

async function listensOnSshPort(link: GuestLink, deadline: Deadline): Promise<boolean> {
  for (const path of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const table = await link.files.read(path, { deadline, length: MAX_TABLE_BYTES }).then(
      ({ stream }) => deadline.race(text(stream)),
      () => '',
    )
    if (LISTENS.test(table)) return true
  }
  return false
}

function ifMissing(error: unknown): null {
  if (error instanceof GuestRunError) return null
  throw error
}
