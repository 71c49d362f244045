import { Deadline } from '@offshoot/kit/deadline'
import { feedProgram } from '../host/feed-program.ts'

const FORGET_MS = 20_000
/** conntrack(8) fails with this when there was nothing to delete. */
const NOTHING = ' 0 flow entries have been deleted'

/** Removes what the kernel remembers of the connections from and to an address: the next guest there has none of them. */
export async function forgetConnections(ip: string): Promise<void> {
  const deadline = Deadline.after(FORGET_MS, `connections of ${ip}`)
  for (const side of ['--src', '--dst']) {
    await feedProgram('conntrack', ['-D', side, ip], '', deadline).catch((error: unknown) => {
      if (!String(error).includes(NOTHING)) throw error
    })
  }
}
