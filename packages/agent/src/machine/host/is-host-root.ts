import { readFileSync } from 'node:fs'

/** /proc/self/uid_map of the host's own user namespace. */
const ALL_IDS = /^\s*0\s+0\s+4294967295\s*$/

/**
 * Whether this process is root of the host. Root of a user namespace has its ids, files, networks and mounts, but no rights over
 * the host's scheduler and devices.
 */
export function isHostRoot(): boolean {
  return process.getuid?.() === 0 && ALL_IDS.test(readFileSync('/proc/self/uid_map', 'utf8'))
}
