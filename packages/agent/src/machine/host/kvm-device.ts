import { stat } from 'node:fs/promises'

export const KVM_DEVICE = '/dev/kvm'

const OTHERS_READ_AND_WRITE = 0o006
const GROUP_READS_AND_WRITES = 0o060

/** How a VM's user, who is in no group of the host, can open KVM's device; `reason`: why it cannot. */
export type KvmDevice =
  | { readonly isUsable: true; /** The group that VMs need for it. */ readonly group: number | null }
  | { readonly isUsable: false; readonly reason: string }

export interface FindKvmDevice {
  readonly path?: string
  /** Whether VMs have users of their own; otherwise they run as the agent's user, with its groups. */
  readonly isRoot?: boolean
  /** Whether VMs have a jail, which has a device of its own for their user. */
  readonly isJailed?: boolean
}

/**
 * Reads owner and mode. The probe then opens the device for real: an access list or a container may still refuse.
 *
 * Group 0 is never given to a VM: files of root that root's group may read are many, and a guest that has broken out into
 * QEMU would reach them.
 */
export async function findKvmDevice({
  path = KVM_DEVICE,
  isRoot = process.getuid?.() === 0,
  isJailed = false,
}: FindKvmDevice = {}): Promise<KvmDevice> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const reason = found.code === 'ENOENT' ? `there is no ${path}` : `${path} cannot be looked at (${found.code})`
    return { isUsable: false, reason }
  }
  if (!found.isCharacterDevice()) return { isUsable: false, reason: `${path} is not a character device` }
  if (!isRoot || isJailed || allows(found.mode, OTHERS_READ_AND_WRITE)) return { isUsable: true, group: null }
  if (found.gid !== 0 && allows(found.mode, GROUP_READS_AND_WRITES)) return { isUsable: true, group: found.gid }
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0')
  return {
    isUsable: false,
    reason:
      `the users of VMs cannot open ${path}: its owner is ${found.uid}:${found.gid} and its mode ${mode}. ` +
      `Give it a group of its own: chgrp kvm ${path} && chmod 660 ${path}`,
  }
}

function allows(mode: number, wanted: number): boolean {
  return (mode & wanted) === wanted
}
