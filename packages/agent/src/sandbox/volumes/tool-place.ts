import { confinementOf } from '../model/confinement-of.ts'
import { TOOL_LIMITS, type ToolPlace } from '../../machine/disks/ext4.ts'
import type { Host } from '../model/host.ts'

/** Runs tools as the user of a slot without a VM, in its control group. Then removes the group and the processes left in it. */
export function toolPlace(host: Pick<Host, 'qemus' | 'cgroups' | 'machines'>, slot: number): ToolPlace {
  return async (work) => {
    await host.cgroups?.create(slot, TOOL_LIMITS)
    try {
      return await work(confinementOf(host, slot))
    } finally {
      await host.cgroups?.remove(slot)
    }
  }
}
