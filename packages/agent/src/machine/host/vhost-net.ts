import { open, type FileHandle } from 'node:fs/promises'

export const VHOST_NET_DEVICE = '/dev/vhost-net'

/**
 * Opens the kernel's vhost-net for one VM. The agent opens it, so that neither the VM's user nor its jail needs the device.
 * Each VM needs its own descriptor, because VHOST_SET_OWNER binds it to one process.
 * @returns `null` if the host does not offer it: packets then pass through QEMU
 */
export async function openVhostNet(path = VHOST_NET_DEVICE): Promise<FileHandle | null> {
  return open(path, 'r+').catch(() => null)
}

/** The reason why this host does not offer vhost-net; `null` if it does. Opening the device may load the kernel module. */
export async function vhostNetObstacle(path = VHOST_NET_DEVICE): Promise<string | null> {
  try {
    const device = await open(path, 'r+')
    await device.close()
    return null
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? `there is no ${path}` : `${path} cannot be opened (${code})`
  }
}
