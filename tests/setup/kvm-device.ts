import { execFile } from 'node:child_process'
import { chmod, chown } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Of /dev/kvm, and of /dev/null, which every host has. */
const NUMBERS = { kvm: ['10', '232'], null: ['1', '3'] } as const

export interface DeviceNode {
  readonly driver: keyof typeof NUMBERS
  readonly gid: number
  readonly mode: number
}

/** Makes a device node. Only root can. */
export async function makeDevice(path: string, { driver, gid, mode }: DeviceNode): Promise<void> {
  await run('mknod', [path, 'c', ...NUMBERS[driver]])
  await chown(path, 0, gid)
  await chmod(path, mode)
}

/** Starts a program in a mount namespace of its own, in which this node is /dev/kvm. The host must have one to put it over. */
export function withKvmDevice(path: string): readonly string[] {
  const script = 'mount --bind "$1" /dev/kvm && shift && exec "$@"'
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', path]
}
