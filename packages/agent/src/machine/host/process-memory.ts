import { readFile } from 'node:fs/promises'

/** MiB that a process has for itself alone: what it wrote, not what it maps (`RssAnon`, proc(5)). */
export async function ownMemoryMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kib = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]
  if (kib === undefined) throw new Error(`no RssAnon of process ${pid}`)
  return Number(kib) / 1024
}
