import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { HOST_JOIN_PATH, joinedHost, type JoinedHost } from '@offshoot/contract/host-enrolment'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import type { HostAddress, JoinArguments } from '../base/join-arguments.ts'
import type { DataLayout } from '../base/data-layout.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { askControl } from './ask-control.ts'
import { hostFiles, type Membership, writeMembership } from './membership.ts'

const ANSWER_WITHIN_MS = 30_000

/**
 * Joins the fleet of a control: makes a key pair, has control certify it, and writes the host's files. The key never
 * leaves this machine. After a crash the same command continues with the same key, which the token is bound to.
 * @param member of a host that joins again, because control refuses its certificate
 * @throws SetupFailure if control refuses or cannot be reached
 */
export async function enrol(
  layout: DataLayout,
  join: JoinArguments,
  cancelled: AbortSignal,
  member: Membership | null = null,
): Promise<Membership> {
  const { url, token, labels, zone } = join
  if (token === null) throw new SetupFailure('--join needs a token: an operator makes one with offshoot host token.')
  const files = hostFiles(layout)
  const key = await keptKey(files.firstKey)
  const { host, port } = member ?? (await addressFor(url, join.address, cancelled))
  const body = {
    request: await certificateRequest(key),
    url: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(zone !== null && { zone }),
    ...(member !== null && { host_id: member.host_id }),
  }
  const deadline = Deadline.after(ANSWER_WITHIN_MS, `an answer of ${url}`, cancelled)
  const answer = await askControl(`${url}${HOST_JOIN_PATH}`, { token, body }, deadline)
  const joined = joinedHost.parse(answer)
  await writeFileDurably(files.authority, joined.authority)
  await writeFileDurably(files.identity, `${key}${joined.certificate}`)
  const present = memberOf(joined, { url, host, port })
  // The record comes last: with it the host has joined.
  await writeMembership(layout, present)
  return present
}

function memberOf(joined: JoinedHost, { url, host, port }: { url: string; host: string; port: number }): Membership {
  const { host_id, secret, edge_secret } = joined
  return { control_url: url, host_id, host, port, secret, edge_secret }
}

async function keptKey(path: string): Promise<string> {
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (kept !== null) return kept
  const key = makePrivateKey()
  await writeFileDurably(path, key)
  return key
}

/** Without a given address: the one from which this machine reaches control. */
async function addressFor(
  url: string,
  given: HostAddress,
  cancelled: AbortSignal,
): Promise<{ host: string; port: number }> {
  if (given.host !== null) return { host: given.host, port: given.port }
  const { hostname, port } = new URL(url)
  const control = hostname.replace(/^\[|\]$/g, '')
  const socket = createSocket(isIPv6(control) ? 'udp6' : 'udp4')
  try {
    // This sends nothing. It only chooses a route.
    socket.connect(Number(port) || 443, control)
    await once(socket, 'connect', { signal: cancelled })
    return { host: socket.address().address, port: given.port }
  } catch (error) {
    throw new SetupFailure(`${url} cannot be reached (${(error as Error).message}).`, { cause: error })
  } finally {
    socket.close()
  }
}
