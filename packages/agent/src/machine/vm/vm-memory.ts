import { TRANSLATION_CACHE_MIB } from './machine.ts'

/** MiB that QEMU may use in addition to its guest's memory and its translated code. An idle one has 20. */
const QEMU_MIB = 64

/** The maximum MiB of a VM: the limit of its control group, and the amount that admission counts. */
export function vmLimitMib(guestMib: number): number {
  return guestMib + TRANSLATION_CACHE_MIB + QEMU_MIB
}
