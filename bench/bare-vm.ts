import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, open, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GuestLink } from '@offshoot/guest-link/link'
import { Deadline } from '@offshoot/kit/deadline'

/** What is needed to start the QEMU of a template by hand: read off one that the service runs. */
export interface Recipe {
  readonly args: readonly string[]
  readonly overlay: string
  readonly state: string
  /** Folder beside the service's sandboxes, so that the paths relative to a VM's folder hold there too. */
  readonly folder: string
}

const RESTORE_MS = 60_000
let lastNumber = 0

/** Takes the command line of a running VM of `template` and finds the snapshot that it came from. */
export async function readRecipe(dataDir: string, template: string, pid: number): Promise<Recipe> {
  const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1)
  const bakes = join(dataDir, 'agent/bakes', template)
  const [bake] = await readdir(bakes)
  if (bake === undefined) throw new Error(`no bake of ${template}`)
  const folder = join(dataDir, 'agent/bench')
  await mkdir(folder, { recursive: true })
  return { args, overlay: join(bakes, bake, 'overlay.qcow2'), state: join(bakes, bake, 'state'), folder }
}

/**
 * The floor of a create: the same QEMU with the same snapshot, started with nothing around it. No isolation, no
 * record, no HTTP; from the copied disk layer to the first answer of the guest.
 */
export class BareVm {
  readonly link: GuestLink
  readonly #folder: string
  readonly #qemu: ChildProcess

  private constructor(folder: string, qemu: ChildProcess, link: GuestLink) {
    this.#folder = folder
    this.#qemu = qemu
    this.link = link
  }

  static async restore({ args, overlay, state, folder }: Recipe): Promise<BareVm> {
    // As deep below the agent's folder as a sandbox's own QEMU is (`sandboxes/ID/vm`).
    const own = join(folder, String(++lastNumber), 'vm')
    await mkdir(own, { recursive: true })
    await copyFile(overlay, join(own, 'disk.qcow2'))
    const stateFile = await open(state, 'r')
    const [program = '', ...rest] = args
    const qemu = spawn(program, rest, { cwd: own, stdio: ['ignore', 'ignore', 'ignore', 'pipe', stateFile.fd] })
    await once(qemu, 'spawn')
    await stateFile.close()
    const link = await GuestLink.connect(join(own, 'guest.sock'), Deadline.after(RESTORE_MS, 'bare restore'))
    return new BareVm(own, qemu, link)
  }

  /** SIGKILL and the wait for the end of it. */
  async kill(): Promise<void> {
    this.link.close()
    const ended = once(this.#qemu, 'exit')
    this.#qemu.kill('SIGKILL')
    await ended
    await rm(this.#folder, { recursive: true })
  }
}
