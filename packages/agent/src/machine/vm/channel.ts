/**
 * The sockets by which an agent reaches a QEMU: its monitor, the guest's channel, and what makes images of its memory.
 *
 * They lie beside the folder that QEMU works in, in one that only root enters, and the launcher makes them (native/jail.c). In
 * QEMU's own folder, who broke out of a guest could put a link to another tenant's socket in their place. Without a jail that is
 * where QEMU makes them: a VM that an agent without jails has left runs on with those.
 */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { socketPath } from '../../store/data-dir/data-dir.ts'
import { QMP_SOCKET } from './machine.ts'

/** The socket of a VM is not one, or not its own. */
export class ForeignSocket extends Error {
  override readonly name = 'ForeignSocket'
}

/** @param folder that QEMU works in */
export function channelFolder(folder: string): string {
  return `${folder}.channel`
}

/** Whether the launcher has made the sockets of the VM that runs there. */
export async function hasChannel(folder: string): Promise<boolean> {
  return (await lookAt(join(channelFolder(folder), QMP_SOCKET))) !== null
}

/**
 * The path of a socket of a VM, which need not be there yet.
 * @throws ForeignSocket when QEMU's user has put something else in its place
 */
export async function ownSocket(folder: string, name: string, isJailed: boolean): Promise<string> {
  if (isJailed) return socketPath(channelFolder(folder), name)
  const [found, owner] = [await lookAt(join(folder, name)), await lookAt(folder)]
  if (found !== null && (!found.isSocket() || found.uid !== owner?.uid)) {
    throw new ForeignSocket(`${name} of a VM is no socket of its own`)
  }
  return socketPath(folder, name)
}

/** Itself, where it is a link; `null` where nothing is. */
async function lookAt(path: string) {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
