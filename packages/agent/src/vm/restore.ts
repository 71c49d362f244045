import { chown, copyFile, constants } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { GuestLinkLost } from '@offshoot/guest-link/guest-link-error'
import { QmpConnectionError } from '@offshoot/qmp/qmp-error'
import { bakeFiles } from './bake-files.ts'
import type { Confinement } from './confinement.ts'
import type { GuestIdentity } from './guest-identity.ts'
import { describeEnd, launch } from './launch.ts'
import { DISK, machineArguments, restoreArguments, type Machine } from './machine.ts'
import { Vm } from './vm.ts'

const KILL_MS = 5000
/** Milliseconds between the loss of a socket and the end of QEMU, where that is the reason. */
const END_MS = 1000

export interface Restore {
  readonly qemu: string
  readonly machine: Machine
  /** Folder of the snapshot. */
  readonly bake: string
  /** QEMU's working directory; it belongs to the VM's user already. */
  readonly folder: string
  readonly logPath: string
  readonly confinement: Confinement
  readonly identity: () => GuestIdentity
}

/**
 * The hot path: from a folder to a guest that answers as itself.
 * A guest lets nothing through before it has taken its new identity. Whatever fails, no process is left.
 */
export async function restore(options: Restore, deadline: Deadline): Promise<Vm> {
  const { machine, folder, logPath, confinement } = options
  const bake = bakeFiles(options.bake)
  await makeDisk(bake.overlay, join(folder, DISK), confinement)
  const memoryPath = relative(folder, bake.memory)
  const launched = await launch({
    qemu: options.qemu,
    args: [...machineArguments(machine, { path: memoryPath, isShared: false }), ...restoreArguments()],
    folder,
    logPath,
    confinement,
    memoryPath,
    statePath: bake.state,
  })
  const vm = new Vm(folder, launched)
  try {
    await greet(vm, options, deadline)
    return vm
  } catch (error) {
    const cause = await endedWith(vm, logPath, error)
    // A deadline of its own: the restore's may be what has passed.
    await vm.kill(Deadline.after(KILL_MS, 'end of a VM that did not start'))
    throw cause
  }
}

/** A QEMU that dies takes its sockets with it; why it died is the better cause. */
async function endedWith(vm: Vm, logPath: string, error: unknown): Promise<unknown> {
  if (!(error instanceof QmpConnectionError || error instanceof GuestLinkLost)) return error
  const ended = Deadline.after(END_MS, 'end of QEMU').race(vm.ended)
  return ended.then(
    (end) => describeEnd(logPath, end),
    () => error,
  )
}

async function greet(vm: Vm, { identity }: Restore, deadline: Deadline): Promise<void> {
  // The monitor answers when QEMU has made its sockets, so that nothing polls for them.
  await vm.qmp.ready(deadline)
  const link = await vm.link(deadline)
  await link.refresh(identity(), deadline)
}

async function makeDisk(overlay: string, path: string, { uid }: Confinement): Promise<void> {
  await copyFile(overlay, path, constants.COPYFILE_EXCL)
  if (uid !== null) await chown(path, uid, uid)
}
