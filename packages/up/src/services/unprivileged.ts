import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * The start of a command that runs the rest of it as an unprivileged user, for programs that refuse root. Empty when we are not root.
 * Where a parent of what it needs is closed to others (a checkout below /root), it gets the one capability to pass and read, and nothing else.
 * @param needed absolute paths it must reach
 */
export async function asUnprivileged(uid: number, needed: readonly string[]): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return []
  const reachable = await Promise.all(needed.map(isReachableByOthers))
  const kept = reachable.every(Boolean) ? '' : ',+dac_read_search'
  return [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${uid}`,
    '--clear-groups',
    '--no-new-privs',
    `--inh-caps=-all${kept}`,
    ...(kept === '' ? [] : [`--ambient-caps=-all${kept}`]),
    `--bounding-set=-all${kept}`,
    '--',
  ]
}

/** Whether everybody may pass through every folder above the path. */
async function isReachableByOthers(path: string): Promise<boolean> {
  const parent = dirname(path)
  if (parent === path) return true
  const { mode } = await stat(parent)
  return (mode & 0o001) !== 0 && isReachableByOthers(parent)
}
