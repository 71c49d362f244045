import type { Confinement } from '../../machine/vm/confinement.ts'
import { uidOfSlot } from '../../machine/slots/slots.ts'
import type { Host } from './host.ts'

/** What processes of a slot may be; its control group must be there when the first is started. */
export function confinementOf(
  { jail, cgroups, machines }: Pick<Host, 'jail' | 'cgroups' | 'machines'>,
  slot: number,
): Confinement {
  return {
    ...machines.confinement(uidOfSlot(slot)),
    jail,
    cgroup: jail === null ? null : (cgroups?.placeOf(slot) ?? null),
  }
}
