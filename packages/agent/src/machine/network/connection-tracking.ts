import { Deadline } from '@offshoot/kit/deadline'
import { feedProgram } from '../host/feed-program.ts'
import { networkOfSlots, runsOfSlots } from './slot-address.ts'

const FORGET_MS = 20_000
/** conntrack(8) exits with an error and this message when no entry matched. */
const NOTHING = ' 0 flow entries have been deleted'

/**
 * Deletes the kernel's tracked connections from and to slots, so that their next guests inherit none.
 * Runs two programs per run of slots, not per slot: a starting agent does this for all slots that its predecessor had ready.
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
