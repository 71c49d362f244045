import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import type { Deadline } from '@offshoot/kit/deadline'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { childrenOf, parentOf, pidInNamespace } from '../host/find-vm-processes.ts'
import { IMAGE_SOCKET } from '../vm/machine.ts'
import type { Vm } from '../vm/vm.ts'

/** Milliseconds for one to be there: a hundred times the usual. */
const TAKE_MS = 2_000
/** Characters of its answer: a process id and the end of a line. */
const MAX_ANSWER_CHARS = 16
/** So that it is what ends where memory runs out, and not the guest that runs on beside it. */
const ENDS_FIRST = '1000'

type Imaged = Pick<Vm, 'process' | 'socket'>

/** A QEMU's memory as it was when this was taken, in a process that does nothing (native/memory-image.c). */
export class MemoryImage {
  readonly process: ProcessIdentity
  readonly #connection: Socket

  private constructor(process: ProcessIdentity, connection: Socket) {
    this.process = process
    this.#connection = connection
  }

  /**
   * Of a QEMU whose CPUs stand still, which may run on as soon as this resolves.
   * @returns `null` where this QEMU makes none: its memory is to be read where it is
   */
  static async take(vm: Imaged, deadline: Deadline): Promise<MemoryImage | null> {
    const connection = connect(await vm.socket(IMAGE_SOCKET))
    try {
      const pid = Number(await deadline.within(TAKE_MS, 'image of a memory').race(firstLine(connection)))
      return new MemoryImage(await judge(pid, vm), connection)
    } catch {
      connection.destroy()
      deadline.throwIfOver()
      return null
    }
  }

  /** Lets go of it: it ends. */
  close(): void {
    this.#connection.destroy()
  }
}

/**
 * Who has taken over a QEMU may name any process as its image: only its own is read. The number is that of its pid namespace, so that
 * it is looked for from QEMU downwards: QEMU, the process beside it, the image.
 */
async function judge(named: number, vm: Imaged): Promise<ProcessIdentity> {
  for (const beside of await childrenOf(vm.process)) {
    for (const pid of await childrenOf({ pid: beside })) {
      if ((await pidInNamespace(pid)) !== named) continue
      const image = await identifyProcess(pid)
      if (image === null || (await parentOf(image)) !== beside) continue
      await writeFile(`/proc/${pid}/oom_score_adj`, ENDS_FIRST)
      return image
    }
  }
  throw new Error('an image of another')
}

async function firstLine(connection: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let said = ''
  connection.setEncoding('latin1').on('data', (chunk: string) => {
    said += chunk
    if (said.endsWith('\n')) resolve(said)
    else if (said.length > MAX_ANSWER_CHARS) reject(new Error('that is no process id'))
  })
  connection.once('error', reject).once('close', () => reject(new Error('no image was made')))
  return promise
}
