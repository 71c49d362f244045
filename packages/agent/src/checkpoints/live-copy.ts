/**
 * Copies a guest's memory while it runs, so that it stands still only for what it has written meanwhile.
 *
 *     begin: all that is its own, then what was written during that, … until a pass is short ──guest stops──► finish: the rest
 *
 * A page that is written while it is read may be torn in the copy, and is then copied again: it was written since it was asked what was.
 */
import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { fileOfLayer } from '../disks/layer-id.ts'
import type { Vm } from '../vm/vm.ts'
import type { CheckpointFiles } from './checkpoint-files.ts'
import type { CopyWritten, LocateMemory } from './copy-written.ts'
import type { GuestMemory } from './memory-map.ts'
import { PAGE_BYTES, type PageRun } from './page-runs.ts'
import type { SavedMemory } from './save-memory.ts'
import type { Thread } from './thread.ts'
import { WriteTracker } from './write-tracker.ts'

/** Bytes of its own from which a guest is worth it: less is copied in the time that it takes to begin. */
const WORTH_BYTES = 64 * 1024 * 1024
/** Passes while the guest runs, and pages of one after which there need be no other. */
const MAX_PASSES = 4
const SHORT_PASS_PAGES = (8 * 1024 * 1024) / PAGE_BYTES

export interface LiveCopyOptions {
  /** native/track-writes.c, compiled. */
  readonly program: string
  /** Copies while the guest runs; others' guests stand still meanwhile. */
  readonly copying: Thread
  /** Copies while it stands still. */
  readonly saving: Thread
  readonly files: Pick<CheckpointFiles, 'pages' | 'runs'>
  readonly memory: LocateMemory
}

export class LiveCopy {
  readonly #tracker: WriteTracker
  readonly #saving: Thread
  readonly #runs: string
  #copied: CopyWritten

  private constructor(tracker: WriteTracker, saving: Thread, runs: string, copied: CopyWritten) {
    this.#tracker = tracker
    this.#saving = saving
    this.#runs = runs
    this.#copied = copied
  }

  /** `null` where it is not worth it, or this host cannot do it: the guest then stands still for all of it. */
  static async begin(vm: Vm, options: LiveCopyOptions, deadline: Deadline): Promise<LiveCopy | null> {
    const { program, copying, saving, files, memory: asked } = options
    const { pid } = asked
    const memory = await copying.ask('locate', asked, deadline)
    if ((await ownBytes(pid, memory)) < WORTH_BYTES) return null
    const tracker = new WriteTracker(program, pid, memory)
    try {
      const first = { pid, memory, pages: files.pages, known: [], written: [], runs: null }
      const copy = new LiveCopy(tracker, saving, files.runs, first)
      await Promise.all([copy.#passes(copying, deadline), syncDisk(vm)])
      return copy
    } catch {
      // An older kernel, or a QEMU that was started without what is wanted of it; what else is wrong is met again, and told, without it.
      await tracker.close()
      deadline.throwIfOver()
      return null
    }
  }

  /** What is left, of a guest that stands still. */
  async finish(deadline: Deadline): Promise<SavedMemory> {
    const written = await this.#tracker.written(deadline)
    const rest = { ...this.#copied, written, runs: this.#runs }
    const { known, pages: pagesAtRest } = await this.#saving.ask('copy', rest, deadline)
    return { pages: known.reduce((sum, { pages }) => sum + pages, 0), pagesAtRest, runs: known.length }
  }

  async close(): Promise<void> {
    await this.#tracker.close()
  }

  async #passes(copying: Thread, deadline: Deadline): Promise<void> {
    let last = Infinity
    for (let pass = 0; pass < MAX_PASSES && last > SHORT_PASS_PAGES; pass++) {
      const written: readonly PageRun[] = await this.#tracker.written(deadline)
      const { known, pages } = await copying.ask('copy', { ...this.#copied, written }, deadline)
      this.#copied = { ...this.#copied, known }
      last = pages
    }
  }
}

/** Bytes that a guest has written itself, and those of an earlier checkpoint. QEMU's own are among them: it is a guess. */
async function ownBytes(pid: number, { foreign }: GuestMemory): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '')
  const anonymous = Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
  return foreign.reduce((sum, { start, end }) => sum + end - start, anonymous)
}

/** QEMU flushes its disk when it stops: what is on the disk by then need not be waited for. */
async function syncDisk({ folder, disk, noteDisk }: Vm): Promise<void> {
  if (disk === null || noteDisk === null) return
  const path = join(folder, fileOfLayer(disk.active))
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    await file.datasync()
  } finally {
    await file.close()
  }
}
