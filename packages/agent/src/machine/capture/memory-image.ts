import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import type { Deadline } from '@offshoot/kit/deadline'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { childrenOf, parentOf, pidInNamespace } from '../host/find-vm-processes.ts'
import { IMAGE_SOCKET } from '../vm/machine.ts'
import type { Vm } from '../vm/vm.ts'

/** Milliseconds until an image exists: a hundred times the usual. */
const TAKE_MS = 2_000
/** Maximum characters of the answer: a process id and a line end. */
const MAX_ANSWER_CHARS = 16
/** If memory runs out, the kernel ends the image and not the guest that runs beside it. */
const ENDS_FIRST = '1000'

type Imaged = Pick<Vm, 'process' | 'socket'>

/** A QEMU's memory at the moment of the image, held by a process that does nothing else (native/memory-image.c). */
export class MemoryImage {
  readonly process: ProcessIdentity
  readonly #connection: Socket

  private constructor(process: ProcessIdentity, connection: Socket) {
    this.process = process
    this.#connection = connection
  }

  /**
   * Takes an image of a QEMU whose CPUs are stopped. QEMU may continue when this resolves.
   * @returns `null` if this QEMU takes no images: its memory must be read from QEMU itself
   */
  static async take(vm: Imaged, deadline: Deadline): Promise<MemoryImage | null> {
    const connection = connect(await vm.socket(IMAGE_SOCKET))
    try {
      const pid = Number(await deadline.within(TAKE_MS, 'image of a memory').race(firstLine(connection)))
      return new MemoryImage(await verifyImage(pid, vm), connection)
    } catch {
      connection.destroy()
      deadline.throwIfOver()
      return null
    }
  }

  /** Releases the image: its process ends. */
  close(): void {
    this.#connection.destroy()
  }
}

/**
 * An attacker in QEMU may name any process as its image, so the agent checks that the process belongs to QEMU. The pid is
 * that of QEMU's pid namespace, so the agent searches downwards from QEMU: QEMU, the process beside it, the image.
 */
async function verifyImage(named: number, vm: Imaged): Promise<ProcessIdentity> {
  for (const beside of await childrenOf(vm.process)) {
    for (const pid of await childrenOf({ pid: beside })) {
      if ((await pidInNamespace(pid)) !== named) continue
      const image = await identifyProcess(pid)
      if (image === null || (await parentOf(image)) !== beside) continue
      await writeFile(`/proc/${pid}/oom_score_adj`, ENDS_FIRST)
      return image
    }
  }
  throw new Error('the image belongs to another process')
}

async function firstLine(connection: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let said = ''
  connection.setEncoding('latin1').on('data', (chunk: string) => {
    said += chunk
    if (said.endsWith('\n')) resolve(said)
    else if (said.length > MAX_ANSWER_CHARS) reject(new Error('the answer is no process id'))
  })
  connection.once('error', reject).once('close', () => reject(new Error('no image was made')))
  return promise
}
