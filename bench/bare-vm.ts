import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, copyFile, mkdir, mkdtemp, open, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GuestLink } from '@offshoot/guest-link/link'
import { Deadline } from '@offshoot/kit/deadline'
import { imagesDir } from '../tests/setup/offshoot.ts'
import { hold } from './held.ts'
import { releaseBareTap, takeBareTap, TAP_FD } from './bare-tap.ts'

/** What is needed to start the QEMU of a template by hand: read off one that the service runs. */
export interface Recipe {
  readonly args: readonly string[]
  /** Folder of the template's snapshot. */
  readonly bake: string
  /** The program that lets QEMU inherit a TAP; `null` where the service's guests have none. */
  readonly withTap: string | null
  readonly memoryBytes: number
  /** Outside of the agent's folder: it ends a QEMU below it that it did not start. */
  readonly folder: string
}

/** What a fork by hand has instead of the template's snapshot. */
export interface Overlay {
  readonly state: string
  readonly memory: string
  /** The frozen layer of the disk. */
  readonly layer: string
}

/** The name of the disk's active layer in a command line, which is also its file's. */
const ACTIVE = /node-name=(layer-[0-9a-f]+),file\.driver=file,file\.filename=([0-9a-f]+\.qcow2)/
const MEMORY = /size=(\d+)M,mem-path=([^,]+)/
const RESTORE_MS = 60_000
/** From a VM's working directory to the agent's folder. */
const TO_AGENT = '../../../'
let lastNumber = 0

/** Takes the command line of a running VM of `template` and finds the snapshot that it came from. */
export async function readRecipe(dataDir: string, template: string, pid: number): Promise<Recipe> {
  const agent = join(dataDir, 'agent')
  const line = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1)
  const args = line.map((arg) => arg.replaceAll(TO_AGENT, `${agent}/`))
  const [name] = await readdir(join(agent, 'bakes', template))
  if (name === undefined) throw new Error(`no bake of ${template}`)
  const bake = join(agent, 'bakes', template, name)
  const folder = await mkdtemp(join(dataDir, 'bare-'))
  const memoryBytes = Number(MEMORY.exec(args.join(' '))?.[1]) * 1024 * 1024
  return {
    args: args.map((arg) => withoutJail(arg, bake)),
    bake,
    withTap: args.some((arg) => arg.startsWith('tap,')) ? await findWithTap(dataDir) : null,
    memoryBytes,
    folder,
  }
}

/** The same machine with paths of the host, and sockets that QEMU makes itself. */
function withoutJail(arg: string, bake: string): string {
  return arg
    .replace(/id=monitor,fd=\d+/, 'id=monitor,path=qmp.sock')
    .replace(/id=guest,fd=\d+/, 'id=guest,path=guest.sock')
    .replace('filename=/bake/', `filename=${bake}/`)
}

/** Images are the server's own or those of all. */
async function findWithTap(dataDir: string): Promise<string> {
  const own = join(dataDir, 'images/with-tap')
  return access(own).then(
    () => own,
    () => join(imagesDir, 'with-tap'),
  )
}

/**
 * The floor of a create: the same QEMU with the same snapshot, started with nothing around it. No isolation, no
 * record, no HTTP; from the copied disk layer to the first answer of the guest.
 */
export class BareVm {
  readonly link: GuestLink
  readonly folder: string
  /** The disk's active layer. */
  readonly node: string
  readonly #qemu: ChildProcess
  /** SIGKILL and the wait for the end of it. */
  readonly kill: () => Promise<void>
  readonly #tap: string | null

  private constructor(folder: string, node: string, qemu: ChildProcess, link: GuestLink, tap: string | null) {
    this.folder = folder
    this.#tap = tap
    this.node = node
    this.#qemu = qemu
    this.link = link
    this.kill = hold(async () => this.#end())
  }

  static async restore(recipe: Recipe, overlay?: Overlay): Promise<BareVm> {
    const { args, bake, folder, withTap } = recipe
    const own = join(folder, String(++lastNumber), 'vm')
    await mkdir(own, { recursive: true })
    const [, node = '', file = ''] = ACTIVE.exec(args.join(' ')) ?? []
    await copyFile(join(bake, 'overlay.qcow2'), join(own, file))
    const memory = overlay?.memory ?? join(bake, 'memory')
    const line = (overlay ? overlaid(args, overlay) : args).map((arg) => withMemory(arg, memory))
    const state = await open(overlay?.state ?? join(bake, 'state'), 'r')
    const tap = withTap === null ? null : takeBareTap()
    const [program = '', ...rest] = withTap === null || tap === null ? line : [withTap, tap, TAP_FD, ...line]
    const qemu = spawn(program, rest, {
      cwd: own,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', state.fd],
    })
    await once(qemu, 'spawn')
    await state.close()
    const link = await GuestLink.connect(join(own, 'guest.sock'), Deadline.after(RESTORE_MS, 'bare restore'))
    return new BareVm(own, node, qemu, link, tap)
  }

  /** One whose processes run: a restored guest is held until it is told that it may go on. */
  static async running(recipe: Recipe): Promise<BareVm> {
    const vm = await BareVm.restore(recipe)
    const present = { time: new Date(), entropy: randomBytes(64) }
    await vm.link.release(present, Deadline.after(RESTORE_MS, 'release of a bare VM'))
    return vm
  }

  get pid(): number {
    return this.#qemu.pid ?? 0
  }

  async #end(): Promise<void> {
    this.link.close()
    const ended = once(this.#qemu, 'exit')
    this.#qemu.kill('SIGKILL')
    await ended
    if (this.#tap !== null) releaseBareTap(this.#tap)
    await rm(this.folder, { recursive: true, force: true })
  }
}

function withMemory(arg: string, memory: string): string {
  return arg.replace(MEMORY, (_all, size: string) => `size=${size}M,mem-path=${memory}`)
}

/** One more layer below the active one, and another name for that: the frozen one has it. */
function overlaid(args: readonly string[], { layer }: Overlay): string[] {
  const at = args.findIndex((arg) => ACTIVE.test(arg))
  const frozen = `driver=qcow2,node-name=frozen,read-only=on,file.driver=file,file.filename=${layer},backing=bake`
  const active = (args[at] ?? '').replace('backing=bake', 'backing=frozen')
  return [...args.slice(0, at), frozen, '-blockdev', active, ...args.slice(at + 1)]
}
