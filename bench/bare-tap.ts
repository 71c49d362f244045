import { execFileSync } from 'node:child_process'

/** The descriptor that the service's QEMUs have their TAP as. */
export const TAP_FD = '99'

const free: string[] = []
const all: string[] = []

/** A TAP that leads nowhere, for a QEMU started by hand: made once, used again, removed when the bench ends. */
export function takeBareTap(): string {
  const waiting = free.pop()
  if (waiting !== undefined) return waiting
  const tap = `ofb${process.pid}n${all.length}`
  execFileSync('ip', ['tuntap', 'add', 'dev', tap, 'mode', 'tap'])
  if (all.length === 0) process.once('exit', removeAll)
  all.push(tap)
  return tap
}

export function releaseBareTap(tap: string): void {
  free.push(tap)
}

function removeAll(): void {
  for (const tap of all) execFileSync('ip', ['link', 'delete', 'dev', tap])
}
