/**
 * The sockets by which an agent reaches a QEMU: its monitor, the guest's channel, and memory images.
 *
 * The launcher makes them (native/jail.c), beside QEMU's working directory, in a folder that only root can enter. In QEMU's
 * own folder, an attacker who broke out of a guest could replace them by links to another tenant's sockets. Without a jail,
 * QEMU makes them there nevertheless: a VM that an agent without jails started keeps them.
 */
import { lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { socketPath } from '../../store/data-dir/data-dir.ts'
import { QMP_SOCKET } from './machine.ts'

/** The file at a socket's path is no socket, or belongs to another user. */
export class ForeignSocket extends Error {
  override readonly name = 'ForeignSocket'
}

/** @param folder QEMU's working directory */
export function channelFolder(folder: string): string {
  return `${folder}.channel`
}

/** Makes the folder in which the launcher of a jail makes the sockets. */
export async function makeChannel(folder: string): Promise<void> {
  await mkdir(channelFolder(folder), { recursive: true, mode: 0o700 })
}

/** Whether the launcher made the sockets of the VM in this folder. */
export async function hasChannel(folder: string): Promise<boolean> {
  return (await lookAt(join(channelFolder(folder), QMP_SOCKET))) !== null
}

/** The path of a VM's socket, which need not exist yet. @throws ForeignSocket if QEMU's user has put another file in its place */
export async function ownSocket(folder: string, name: string, isJailed: boolean): Promise<string> {
  if (isJailed) return socketPath(channelFolder(folder), name)
  const [found, owner] = [await lookAt(join(folder, name)), await lookAt(folder)]
  if (found !== null && (!found.isSocket() || found.uid !== owner?.uid)) {
    throw new ForeignSocket(`${name} of a VM is no socket of its own`)
  }
  return socketPath(folder, name)
}

/** Does not follow a link. `null` if nothing exists. */
async function lookAt(path: string) {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
