import { execFile } from 'node:child_process'
import { readdir, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Whether this very process listens on the TCP port; a connection attempt could reach another process. Asks the kernel,
 * so the process does not notice. Its socket is of our network namespace, also if the process is in another one.
 *
 * `ss` asks for listening sockets only. The tables in /proc/net would have the kernel go through all connections.
 * Callers ask again and again, so an `ss` that could not run, as on a machine without memory, counts as no.
 */
export async function isListening(pid: number, port: number): Promise<boolean> {
  const asked = ['-H', '--listening', '--tcp', '--numeric', '--extended', `sport = :${port}`]
  const stdout = await run('ss', asked).then(
    (answer) => answer.stdout,
    () => '',
  )
  const wanted = new Set([...stdout.matchAll(/\bino:(\d+)/g)].map(([, inode]) => `socket:[${inode}]`))
  if (wanted.size === 0) return false
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const links = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  return links.some((link) => wanted.has(link))
}
