import type { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from '../host/run-program.ts'

export interface Backing {
  /** Relative to the layer's folder, as QEMU resolves it. */
  readonly path: string
  readonly format: 'raw' | 'qcow2'
  /** Size of the disk, bytes. */
  readonly bytes: number
}

/** Creates an empty layer. Needs the size, because the backing file need not exist yet (`-u`). */
export async function createLayer(path: string, backing: Backing, deadline: Deadline): Promise<void> {
  const base = ['-u', '-b', backing.path, '-F', backing.format]
  await runProgram('qemu-img', ['create', '-q', '-f', 'qcow2', ...base, path, String(backing.bytes)], deadline)
}
