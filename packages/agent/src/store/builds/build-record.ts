import { join } from 'node:path'
import { templateImage } from '@offshoot/contract/template-image'
import { buildOnAgentBody } from '@offshoot/contract/agent-build'
import { buildStage, buildStatus } from '@offshoot/contract/build'
import { isUuid, parseBuildId, type BuildId, type WorkspaceId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readRecord, recordFormat, type RecordRead } from '../ledger/read-record.ts'

/** Without it the folder is an upload that nobody has begun to build. */
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
  /** Of one that is made from a sandbox: all that is to be known of it. `null`: the archive says it. */
  image: templateImage.nullable().default(null),
  /** Bytes of the archive, and its SHA-256; of a sandbox's disk what names it. */
  bytes: z.int(),
  sha256: z.string(),
  /** How often it was begun. */
  attempts: z.int(),
})
export type BuildRecord = z.infer<typeof buildRecord>

export async function writeBuildRecord(folder: string, record: BuildRecord): Promise<void> {
  await writeFileDurably(join(folder, RECORD), `${JSON.stringify(record)}\n`)
}

/** One that waits for its turn. */
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

/** `absent`: an upload whose build was never begun. */
export async function readBuildRecord(folder: string): Promise<RecordRead<BuildRecord>> {
  return readRecord(join(folder, RECORD), (content) => buildRecord.parse(content))
}

export function isEnded({ status }: Pick<BuildRecord, 'status'>): boolean {
  return status === 'done' || status === 'failed'
}
