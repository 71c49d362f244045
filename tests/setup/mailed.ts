import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

/** Waits for a mail, which the service without a mail server writes to a file. @returns the pattern's first group */
export async function mailed({ dataDir }: Offshoot, pattern: RegExp): Promise<string> {
  const folder = join(dataDir, 'control/mail')
  return until(`a mail with ${pattern}`, async () => {
    const names = await readdir(folder).catch(() => [])
    // Files that are still being written have another extension.
    for (const name of names.filter((each) => each.endsWith('.eml'))) {
      const text = (await readFile(join(folder, name), 'utf8')).replaceAll('=\n', '').replaceAll('=3D', '=')
      const found = pattern.exec(text)?.[1]
      if (found !== undefined) return found
    }
    return null
  })
}

/** The token of the invitation that was sent to an address. */
export async function invitationFor(offshoot: Offshoot, email: string): Promise<string> {
  return mailed(offshoot, new RegExp(`${email}[^]*?invites/([\\w-]+)/accept`))
}
