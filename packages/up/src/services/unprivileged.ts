import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Prefix of a command that runs as an unprivileged user, for programs that refuse to run as root. Empty if we are not
 * root. If needed paths are below a closed folder (e.g. a checkout in /root), the command keeps the one capability to
 * traverse and read.
 * @param needed absolute paths that it must reach
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

/** Whether all users may traverse every folder above the path. */
async function isReachableByOthers(path: string): Promise<boolean> {
  const parent = dirname(path)
  if (parent === path) return true
  const { mode } = await stat(parent)
  return (mode & 0o001) !== 0 && isReachableByOthers(parent)
}
