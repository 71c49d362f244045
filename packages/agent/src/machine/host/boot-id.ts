import { readFile } from 'node:fs/promises'

/** Changes at every boot of the host (random(4)). */
export async function readHostBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
}
