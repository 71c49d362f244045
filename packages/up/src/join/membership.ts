import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import type { DataLayout } from '../base/data-layout.ts'
import { SetupFailure } from '../base/setup-failure.ts'

/** Content of `DIR/secrets/host.json`, which makes a data directory one of a host that has joined a fleet. */
const membership = z.object({
  control_url: z.url(),
  host_id: z.uuid(),
  /** Where control and edges reach the agent. */
  host: z.string(),
  port: z.int(),
  /** base64 */
  secret: z.string(),
  /** base64 */
  edge_secret: z.string(),
})
export type Membership = z.infer<typeof membership>

/** Files of a host that has joined. */
export function hostFiles({ secrets }: DataLayout) {
  return {
    record: join(secrets, 'host.json'),
    /** The first key, until its certificate has come. */
    firstKey: join(secrets, 'host-key.pem'),
    /** The present key and its certificate. */
    identity: join(secrets, 'host.pem'),
    authority: join(secrets, 'fleet-authority.pem'),
  }
}

/** `null`: this data directory has not joined a fleet. @throws SetupFailure if the record is damaged */
export async function readMembership(layout: DataLayout): Promise<Membership | null> {
  const { record } = hostFiles(layout)
  const text = await readFile(record, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (text === null) return null
  try {
    return membership.parse(JSON.parse(text))
  } catch {
    throw new SetupFailure(`${record} is damaged. Restore it from a backup, or join with an empty data directory.`)
  }
}

export async function writeMembership(layout: DataLayout, member: Membership): Promise<void> {
  await writeFileDurably(hostFiles(layout).record, `${JSON.stringify(member, null, 2)}\n`)
}
