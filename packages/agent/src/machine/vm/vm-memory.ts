import { TRANSLATION_CACHE_MIB } from './machine.ts'

/** MiB that QEMU may hold beside its guest's memory and its translated code. */
const QEMU_MIB = 192

/** MiB that a VM may come to have, and no more: what its control group allows it, and what admission counts for it. */
export function vmLimitMib(guestMib: number): number {
  return guestMib + TRANSLATION_CACHE_MIB + QEMU_MIB
}
