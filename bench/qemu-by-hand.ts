import { commandOutsideJail, findQemu, findQemuOfImages } from '@offshoot/agent/machine/host/qemu'
import { Deadline } from '@offshoot/kit/deadline'
import { join } from 'node:path'
import { imagesDir } from '../tests/setup/offshoot.ts'

/** The command line that starts the service's QEMU without the service. */
export async function qemuByHand(): Promise<[string, ...string[]]> {
  const deadline = Deadline.after(10_000, 'version of QEMU')
  const ofImages = await findQemuOfImages(join(imagesDir, 'qemu'), deadline)
  return commandOutsideJail(ofImages ?? (await findQemu(deadline)))
}
