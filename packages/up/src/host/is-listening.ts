import { readdir, readFile, readlink } from 'node:fs/promises'

/** State of a listening socket in /proc/net/tcp. */
const LISTENING = '0A'

/**
 * Whether this very process listens on the TCP port; a connection attempt could reach another process. Reads the
 * kernel's tables, so the process does not notice. Its socket may be of our network namespace while it is in another one.
 */
export async function isListening(pid: number, port: number): Promise<boolean> {
  const tables = await Promise.all(
    [pid, 'self'].flatMap((each) =>
      ['tcp', 'tcp6'].map((name) => readFile(`/proc/${each}/net/${name}`, 'utf8').catch(() => '')),
    ),
  )
  const wanted = new Set(tables.flatMap((table) => listeners(table, port)))
  if (wanted.size === 0) return false
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const links = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  return links.some((link) => wanted.has(link))
}

/**
 * Columns of a row (proc_net_tcp.txt): number, local address:PORT, remote address, state, three pairs of figures, uid,
 * timeout, inode.
 */
function listeners(table: string, port: number): string[] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table
    .split('\n')
    .map((row) => row.trim().split(/\s+/))
    .filter(([, address, , state]) => state === LISTENING && address?.endsWith(local))
    .map((row) => `socket:[${row[9]}]`)
}
