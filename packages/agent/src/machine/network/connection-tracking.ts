import { Deadline } from '@offshoot/kit/deadline'
import { feedProgram } from '../host/feed-program.ts'
import { networkOfSlots, runsOfSlots } from './slot-address.ts'

const FORGET_MS = 20_000
/** conntrack(8) fails with this when there was nothing to delete. */
const NOTHING = ' 0 flow entries have been deleted'

/**
 * Removes what the kernel remembers of the connections from and to slots: their next guests have none of them.
 * Two programs for a whole run of slots: an agent that starts finds all that its predecessor had ready.
 */
export async function forgetConnections(base: string, slots: readonly number[]): Promise<void> {
  for (const { first, count } of runsOfSlots(slots)) {
    const network = networkOfSlots(base, first, count)
    const deadline = Deadline.after(FORGET_MS, `connections of ${network}`)
    for (const side of ['--src', '--dst']) {
      await feedProgram('conntrack', ['-D', side, network], '', deadline).catch((error: unknown) => {
        if (!String(error).includes(NOTHING)) throw error
      })
    }
  }
}
