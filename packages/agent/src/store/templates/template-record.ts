import { join } from 'node:path'
import { isUuid, parseBuildId, type BuildId } from '@offshoot/contract/ids'
import { templateImage, type TemplateImage } from '@offshoot/contract/template-image'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readRecord, recordFormat, type RecordRead } from '../ledger/read-record.ts'

/** Written last: a folder without this file is an unfinished template. */
const RECORD = 'template.json'

const templateRecord = z.object({
  format: recordFormat,
  id: z.string().transform((text, context): BuildId => {
    const id = parseBuildId(text)
    if (id !== null) return id
    context.addIssue({ code: 'custom', message: 'no id of a template' })
    return z.NEVER
  }),
  workspace_id: z.string().refine(isUuid),
  /** Its `name` is the template's id. Its `title` is the name that users see. */
  image: templateImage,
  /** SHA-256 of the image's configuration, or of the archive if that is not an image. */
  digest: z.string(),
  created_at: z.iso.datetime(),
  /** Size and bake of the snapshot with the same id. `null` for a template without memory, which has a disk of its own. */
  memory: z.object({ bytes: z.int(), fingerprint: z.string() }).nullable().default(null),
})
export type TemplateRecord = z.infer<typeof templateRecord>

export async function writeTemplateRecord(folder: string, record: TemplateRecord): Promise<void> {
  await writeFileDurably(templateRecordPath(folder), `${JSON.stringify(record)}\n`)
}

/** `absent`: the template was never finished, or is being deleted. */
export async function readTemplateRecord(folder: string): Promise<RecordRead<TemplateRecord>> {
  return readRecord(templateRecordPath(folder), (content) => templateRecord.parse(content))
}

function templateRecordPath(folder: string): string {
  return join(folder, RECORD)
}

/** The files from which a template boots. Immutable. */
export interface TemplateDisk {
  /** Raw ext4 root file system. */
  readonly rootfs: string
  /** For a template made from a sandbox: a qcow2 layer whose backing file is `rootfs.ext4`. */
  readonly lower: string | null
}

/** Default user and working directory of commands: the `USER` and `WORKDIR` of an image. */
export const runAs = z.object({ user: z.string().optional(), cwd: z.string().optional() }).default({})
export type RunAs = z.infer<typeof runAs>

export function runAsOf({ user, cwd }: TemplateImage): RunAs {
  return { ...(user !== undefined && { user }), ...(cwd !== undefined && { cwd }) }
}
