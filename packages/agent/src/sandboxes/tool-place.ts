import { TOOL_LIMITS, type ToolPlace } from '../volumes/ext4.ts'
import { confinementOf } from './boot-vm.ts'
import type { Host } from './host.ts'

/** Runs tools as the user of a slot that has no VM yet, in its control group, which is removed with whatever is left in it. */
export function toolPlace(host: Pick<Host, 'jail' | 'cgroups'>, slot: number): ToolPlace {
  return async (work) => {
    await host.cgroups?.create(slot, TOOL_LIMITS)
    try {
      return await work(confinementOf(host, slot))
    } finally {
      await host.cgroups?.remove(slot)
    }
  }
}
