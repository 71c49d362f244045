import type { Confinement } from '../../machine/vm/confinement.ts'
import { uidOfSlot } from '../../machine/slots/slots.ts'
import type { HostPlatform } from './host.ts'

/** The confinement of a slot's processes. The slot's control group must exist before the first process starts. */
export function confinementOf({ qemus, cgroups, machines }: HostPlatform, slot: number): Confinement {
  const { jail } = qemus.current
  return {
    ...machines.confinement(uidOfSlot(slot)),
    jail,
    cgroup: jail === null ? null : (cgroups?.placeOf(slot) ?? null),
  }
}
