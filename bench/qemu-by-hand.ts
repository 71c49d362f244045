import { commandOutsideJail } from '@offshoot/agent/machine/host/qemu'
import { usedQemu } from '@offshoot/agent/test/other-qemu'
import { imagesDir } from '../tests/setup/offshoot.ts'

/** The command line that starts the service's QEMU without the service. */
export async function qemuByHand(): Promise<[string, ...string[]]> {
  return commandOutsideJail(await usedQemu(imagesDir))
}
