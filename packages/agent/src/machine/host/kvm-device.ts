import { stat } from 'node:fs/promises'
import { isHostRoot } from './is-host-root.ts'

export const KVM_DEVICE = '/dev/kvm'

const OTHERS_READ_AND_WRITE = 0o006
const GROUP_READS_AND_WRITES = 0o060

/** Whether the user of a VM, which is in no group of the host, can open KVM's device. */
export type KvmDevice =
  | {
      readonly isUsable: true
      /** The supplementary group that VMs need; `null`: none. */ readonly group: number | null
    }
  | { readonly isUsable: false; readonly reason: string }

export interface FindKvmDevice {
  readonly path?: string
  /** Whether the agent is root, and VMs have users of their own. Otherwise they run as the agent's user, with its groups. */
  readonly isRoot?: boolean
  /** Whether VMs have a jail. The jail's device node belongs to the VM's user. */
  readonly isJailed?: boolean
  /** Whether the agent can make device nodes and has all groups of the host. Root of a user namespace cannot. */
  readonly ownsDevices?: boolean
}

/**
 * Decides by owner and mode. The probe then opens the device, which an access list or a container may still refuse. No VM
 * gets group 0: root's group may read many files of root, which an attacker in QEMU could then reach.
 */
export async function findKvmDevice({
  path = KVM_DEVICE,
  isRoot = process.getuid?.() === 0,
  isJailed = false,
  ownsDevices = isHostRoot(),
}: FindKvmDevice = {}): Promise<KvmDevice> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const reason = found.code === 'ENOENT' ? `there is no ${path}` : `${path} cannot be examined (${found.code})`
    return { isUsable: false, reason }
  }
  if (!found.isCharacterDevice()) return { isUsable: false, reason: `${path} is not a character device` }
  if (!isRoot || (isJailed && ownsDevices) || allows(found.mode, OTHERS_READ_AND_WRITE))
    return { isUsable: true, group: null }
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0')
  if (!ownsDevices)
    return {
      isUsable: false,
      reason: `the users of VMs cannot open ${path}: its mode is ${mode}. As root: chmod 666 ${path}`,
    }
  if (found.gid !== 0 && allows(found.mode, GROUP_READS_AND_WRITES)) return { isUsable: true, group: found.gid }
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
