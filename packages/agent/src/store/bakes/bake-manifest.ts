import { templateImage, type TemplateImage } from '@offshoot/contract/template-image'
import { z } from 'zod'
import { readRecord, type RecordRead } from '../ledger/read-record.ts'

const bakeManifest = z.object({
  fingerprint: z.string(),
  image: templateImage,
  /** The guest's address as it configured it; `null` when it has none. */
  guest_ip: z.string().nullable(),
})
export type BakeManifest = z.infer<typeof bakeManifest>

export function formatBakeManifest(image: TemplateImage, fingerprint: string, guestIp: string | null): string {
  const manifest: BakeManifest = { fingerprint, image, guest_ip: guestIp }
  return `${JSON.stringify(manifest, null, 2)}\n`
}

/** `absent`: there is no complete bake. */
export async function readBakeManifest(path: string): Promise<RecordRead<BakeManifest>> {
  return readRecord(path, (content) => bakeManifest.parse(content))
}
