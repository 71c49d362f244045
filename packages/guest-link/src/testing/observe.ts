import { readFileSync } from 'node:fs'
import type { GuestProcess } from '../guest-process.ts'

/** Whether a process of this host runs; one that only waits to be reaped does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** The first line of stdout; the stream stays open for further reading. */
export async function firstLine(child: GuestProcess): Promise<string> {
  let seen = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    seen += String(chunk)
    if (seen.includes('\n')) break
  }
  return seen.slice(0, seen.indexOf('\n'))
}
