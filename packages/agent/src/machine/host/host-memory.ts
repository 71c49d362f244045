import { readFile } from 'node:fs/promises'

export interface HostMemory {
  readonly totalMib: number
  /** Memory that is available without swapping, including the page cache (`MemAvailable`, proc(5)). */
  readonly availableMib: number
}

export async function readHostMemory(): Promise<HostMemory> {
  const text = await readFile('/proc/meminfo', 'utf8')
  return { totalMib: mebibytes(text, 'MemTotal'), availableMib: mebibytes(text, 'MemAvailable') }
}

function mebibytes(meminfo: string, field: string): number {
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(meminfo)?.[1]
  if (kib === undefined) throw new Error(`no ${field} in /proc/meminfo`)
  return Math.floor(Number(kib) / 1024)
}
