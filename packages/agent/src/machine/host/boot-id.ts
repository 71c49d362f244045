import { readFile } from 'node:fs/promises'

/** A new one at every boot of the host (random(4)). */
export async function readHostBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
}
