import { readFile } from 'node:fs/promises'
import { templateImage, type TemplateImage } from '@offshoot/contract/template-image'
import { z } from 'zod'

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

/** `null` when there is no whole bake. */
export async function readBakeManifest(path: string): Promise<BakeManifest | null> {
  try {
    return bakeManifest.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}
