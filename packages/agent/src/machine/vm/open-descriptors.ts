import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'

/** One open file of a process. */
export interface OpenDescriptor {
  readonly fd: number
  /** What the kernel calls it: a path, as the process sees it, or `anon_inode:[eventfd]`. */
  readonly name: string
  readonly inode: number
  readonly isWritable: boolean
}

/** The lowest two bits of the flags of an open file (open(2)); 0 means read-only. */
const ACCESS_MODE = 3

/** All open files of a process (proc_pid_fd(5)). Those that it closes meanwhile are left out. */
export async function openDescriptors({ pid }: ProcessIdentity): Promise<OpenDescriptor[]> {
  const found: OpenDescriptor[] = []
  for (const name of await readdir(`/proc/${pid}/fd`)) {
    const descriptor = await describe(pid, Number(name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (descriptor !== null) found.push(descriptor)
  }
  return found
}

async function describe(pid: number, fd: number): Promise<OpenDescriptor> {
  const path = `/proc/${pid}/fd/${fd}`
  const [name, { ino }, about] = await Promise.all([
    readlink(path),
    stat(path),
    readFile(`/proc/${pid}/fdinfo/${fd}`, 'utf8'),
  ])
  const flags = parseInt(/^flags:\s+(\d+)$/m.exec(about)?.[1] ?? '3', 8)
  return { fd, name, inode: ino, isWritable: (flags & ACCESS_MODE) !== 0 }
}
