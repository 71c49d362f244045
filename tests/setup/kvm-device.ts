import { execFile } from 'node:child_process'
import { chmod, chown } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Device numbers of /dev/kvm, and of /dev/null, which every host has. */
const NUMBERS = { kvm: ['10', '232'], null: ['1', '3'] } as const

export interface DeviceNode {
  readonly driver: keyof typeof NUMBERS
  readonly gid: number
  readonly mode: number
}

/** Makes a device node. Needs root. */
export async function makeDevice(path: string, { driver, gid, mode }: DeviceNode): Promise<void> {
  await run('mknod', [path, 'c', ...NUMBERS[driver]])
  await chown(path, 0, gid)
  await chmod(path, mode)
}

/**
 * Arguments that start a program in its own mount namespace, in which this node is /dev/kvm. The host must have a
 * /dev/kvm as mount point.
 */
export function withKvmDevice(path: string): readonly string[] {
  const script = 'mount --bind "$1" /dev/kvm && shift && exec "$@"'
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', path]
}
