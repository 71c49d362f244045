import { join } from 'node:path'
import { templateImage } from '@offshoot/contract/template-image'
import { buildOnAgentBody } from '@offshoot/contract/agent-build'
import { buildStage, buildStatus } from '@offshoot/contract/build'
import { isUuid, parseBuildId, type BuildId, type WorkspaceId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readRecord, recordFormat, type RecordRead } from '../ledger/read-record.ts'

/** A folder without this file is an upload for which no build was begun. */
const RECORD = 'build.json'

const buildRecord = buildOnAgentBody.extend({
  format: recordFormat,
  id: z.string().transform((text, context): BuildId => {
    const id = parseBuildId(text)
    if (id !== null) return id
    context.addIssue({ code: 'custom', message: 'no id of a build' })
    return z.NEVER
  }),
  workspace_id: z.string().refine(isUuid),
  status: buildStatus,
  stage: buildStage,
  percent: z.int(),
  error: z.string().nullable(),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  ended_at: z.iso.datetime().nullable(),
  /** For a build from a sandbox: the description of the template. `null`: it comes from the uploaded archive. */
  image: templateImage.nullable().default(null),
  /** Bytes and SHA-256 of the archive. For a build from a sandbox: bytes of its own data, and a hash of its layers' names. */
  bytes: z.int(),
  sha256: z.string(),
  /** How often an agent has begun it. */
  attempts: z.int(),
})
export type BuildRecord = z.infer<typeof buildRecord>

export async function writeBuildRecord(folder: string, record: BuildRecord): Promise<void> {
  await writeFileDurably(join(folder, RECORD), `${JSON.stringify(record)}\n`)
}

/** The record of a queued build. */
export function newBuildRecord(
  id: BuildId,
  workspaceId: WorkspaceId,
  fields: Omit<z.infer<typeof buildOnAgentBody>, 'id'> & Partial<Pick<BuildRecord, 'image'>>,
  { bytes, sha256 }: Pick<BuildRecord, 'bytes' | 'sha256'>,
): BuildRecord {
  const state = { status: 'queued', stage: 'waiting', percent: 0, error: null, attempts: 0 } as const
  const times = { created_at: new Date().toISOString(), started_at: null, ended_at: null }
  return { id, workspace_id: workspaceId, image: null, ...fields, ...state, ...times, bytes, sha256 }
}

/** `absent`: an upload for which no build was begun. */
export async function readBuildRecord(folder: string): Promise<RecordRead<BuildRecord>> {
  return readRecord(join(folder, RECORD), (content) => buildRecord.parse(content))
}

export function isEnded({ status }: Pick<BuildRecord, 'status'>): boolean {
  return status === 'done' || status === 'failed'
}
