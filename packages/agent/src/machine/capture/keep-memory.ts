import { chmod, link, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import type { MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { type IMAGED_PATH, KEPT_FILES, type KEPT_PATH } from '../vm/machine.ts'
import type { Vm } from '../vm/vm.ts'
import { FINAL_MODE } from './save-memory.ts'

/** Mode of the files while QEMU, another user, opens them. Only root and that user can enter its folder. */
const READABLE_MODE = 0o444
const NODE = 'kept-memory'

/** What of a VM is needed to let its QEMU keep memory. */
export interface Keeping extends Pick<Vm, 'folder'> {
  readonly qmp: Pick<Vm['qmp'], 'execute'>
}

/**
 * Lets QEMU replace pages of its memory by equal ones of a capture's files (native/kept-memory.c). Its CPUs stand still meanwhile. A
 * QEMU that an earlier agent has started refuses, and keeps its memory as it is.
 * @param layer the complete files of the capture
 * @param path says how QEMU finds the equal pages
 * @returns whether QEMU has done it
 */
export async function keepMemory(
  { folder, qmp }: Keeping,
  layer: MemoryFiles,
  path: typeof KEPT_PATH | typeof IMAGED_PATH,
  deadline: Deadline,
): Promise<boolean> {
  const files = [
    { file: layer.pages, name: join(folder, KEPT_FILES.pages) },
    { file: layer.runs, name: join(folder, KEPT_FILES.runs) },
  ]
  const node = { driver: 'file', filename: path, 'node-name': NODE, 'read-only': true } as const
  return traceStep('keeping of the memory', async () => {
    try {
      for (const { file, name } of files) {
        // An agent that was killed may have left one.
        await rm(name, { force: true })
        await chmod(file, READABLE_MODE)
        await link(file, name)
      }
      // QEMU executes them in order.
      await Promise.all([
        qmp.execute('blockdev-add', node, deadline),
        qmp.execute('blockdev-del', { 'node-name': NODE }, deadline),
      ])
      return true
    } catch {
      deadline.throwIfOver()
      return false
    } finally {
      for (const { file, name } of files) {
        await rm(name, { force: true })
        // One that is missing was not linked.
        await chmod(file, FINAL_MODE).catch(() => undefined)
      }
    }
  })
}
