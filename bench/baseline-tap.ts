import { execFileSync } from 'node:child_process'

const free: string[] = []
const all: string[] = []

/** A TAP without a route, for a QEMU started by hand. Reused, and removed at the end of the bench. */
export function takeBaselineTap(): string {
  const waiting = free.pop()
  if (waiting !== undefined) return waiting
  const tap = `ofb${process.pid}n${all.length}`
  execFileSync('ip', ['tuntap', 'add', 'dev', tap, 'mode', 'tap'])
  if (all.length === 0) process.once('exit', removeAll)
  all.push(tap)
  return tap
}

export function releaseBaselineTap(tap: string): void {
  free.push(tap)
}

function removeAll(): void {
  for (const tap of all) execFileSync('ip', ['link', 'delete', 'dev', tap])
}
