import type { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from '../host/run-program.ts'

export interface Backing {
  /** As the layer's readers will see it: relative to the layer. */
  readonly path: string
  readonly format: 'raw' | 'qcow2'
  /** Size of the disk, bytes. */
  readonly bytes: number
}

/** Makes an empty layer. The backing file need not be there yet (`-u`), so its size is given. */
export async function createLayer(path: string, backing: Backing, deadline: Deadline): Promise<void> {
  const base = ['-u', '-b', backing.path, '-F', backing.format]
  await runProgram('qemu-img', ['create', '-q', '-f', 'qcow2', ...base, path, String(backing.bytes)], deadline)
}
