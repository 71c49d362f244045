import { join } from 'node:path'
import { isUuid, parseBuildId, type BuildId } from '@offshoot/contract/ids'
import { templateImage, type TemplateImage } from '@offshoot/contract/template-image'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { readRecord, recordFormat, type RecordRead } from '../ledger/read-record.ts'

/** Written last: without it the folder is no template. */
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
  /** Its name is the id; what people call it is its title. */
  image: templateImage,
  /** SHA-256 of the archive that it was made from, or of the image's configuration where that has one. */
  digest: z.string(),
  created_at: z.iso.datetime(),
  /** Of one with memory: the snapshot of its id, and the fingerprint of the bake that this lies over. `null`: it has a disk of its own. */
  memory: z.object({ bytes: z.int(), fingerprint: z.string() }).nullable().default(null),
})
export type TemplateRecord = z.infer<typeof templateRecord>

export async function writeTemplateRecord(folder: string, record: TemplateRecord): Promise<void> {
  await writeFileDurably(templateRecordPath(folder), `${JSON.stringify(record)}\n`)
}

/** `absent`: the template was never finished, or is being removed. */
export async function readTemplateRecord(folder: string): Promise<RecordRead<TemplateRecord>> {
  return readRecord(templateRecordPath(folder), (content) => templateRecord.parse(content))
}

function templateRecordPath(folder: string): string {
  return join(folder, RECORD)
}

/** What a template is booted from. Never written again. */
export interface TemplateDisk {
  /** A root file system, raw. */
  readonly rootfs: string
  /** Of one that was made from a sandbox: a layer over it, which names it as `rootfs.ext4`. */
  readonly lower: string | null
}

/** How commands run that do not say it themselves: the `USER` and `WORKDIR` of an image. */
export const runAs = z.object({ user: z.string().optional(), cwd: z.string().optional() }).default({})
export type RunAs = z.infer<typeof runAs>

export function runAsOf({ user, cwd }: TemplateImage): RunAs {
  return { ...(user !== undefined && { user }), ...(cwd !== undefined && { cwd }) }
}
