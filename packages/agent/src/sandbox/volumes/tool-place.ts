import { confinementOf } from '../model/confinement-of.ts'
import { TOOL_LIMITS, type ToolPlace } from '../../machine/disks/ext4.ts'
import type { HostPlatform } from '../model/host.ts'

/** Runs tools as the user of a slot without a VM, in its control group. Then removes the group and the processes left in it. */
export function toolPlace(platform: HostPlatform, slot: number): ToolPlace {
  return async (work) => {
    await platform.cgroups?.create(slot, TOOL_LIMITS)
    try {
      return await work(confinementOf(platform, slot))
    } finally {
      await platform.cgroups?.remove(slot)
    }
  }
}
