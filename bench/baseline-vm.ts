import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, copyFile, mkdir, mkdtemp, open, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { TAP_FD } from '@offshoot/agent/machine/vm/machine'
import { GuestLink } from '@offshoot/guest-link/link'
import { Deadline } from '@offshoot/kit/deadline'
import { imagesDir } from '../tests/setup/offshoot.ts'
import { hold } from './cleanup.ts'
import { qemuByHand } from './qemu-by-hand.ts'
import { releaseBaselineTap, takeBaselineTap } from './baseline-tap.ts'

/** Everything needed to start a template's QEMU by hand, read from one that the service runs. */
export interface Recipe {
  /** The whole command line. */
  readonly args: readonly string[]
  /** Folder of the template's snapshot. */
  readonly bake: string
  /** The program through which QEMU inherits a TAP; `null` if guests have no network. */
  readonly withTap: string | null
  readonly memoryBytes: number
  /** Outside of the agent's folder, because the agent kills every QEMU in it that it did not start. */
  readonly folder: string
}

/** The files that a fork by hand uses instead of the template's snapshot. */
export interface Overlay {
  readonly state: string
  readonly memory: string
  /** The frozen layer of the disk. */
  readonly layer: string
}

/** Name of the disk's active layer on the command line, which is also its file name. */
const ACTIVE = /node-name=(layer-[0-9a-f]+),file\.driver=file,file\.filename=([0-9a-f]+\.qcow2)/
const MEMORY = /size=(\d+)M,mem-path=([^,]+)/
const RESTORE_MS = 60_000
/** Relative path from a VM's working directory to the agent's folder. */
const TO_AGENT = '../../../'
let lastNumber = 0

/** Reads the command line of a running VM of `template`, and finds the snapshot that it was restored from. */
export async function readRecipe(dataDir: string, template: string, pid: number): Promise<Recipe> {
  const agent = join(dataDir, 'agent')
  const line = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1)
  const args = line.slice(1).map((arg) => arg.replaceAll(TO_AGENT, `${agent}/`))
  const [name] = await readdir(join(agent, 'bakes', template))
  if (name === undefined) throw new Error(`no bake of ${template}`)
  const bake = join(agent, 'bakes', template, name)
  const folder = await mkdtemp(join(dataDir, 'baseline-'))
  const memoryBytes = Number(MEMORY.exec(args.join(' '))?.[1]) * 1024 * 1024
  return {
    args: [...(await qemuByHand()), ...args.map((arg) => withoutJail(arg, bake))],
    bake,
    withTap: args.some((arg) => arg.startsWith('tap,')) ? await findWithTap(dataDir) : null,
    memoryBytes,
    folder,
  }
}

/** The same VM with host paths, and sockets that QEMU creates itself. */
function withoutJail(arg: string, bake: string): string {
  return arg
    .replace(/id=monitor,fd=\d+/, 'id=monitor,path=qmp.sock')
    .replace(/id=guest,fd=\d+/, 'id=guest,path=guest.sock')
    .replace('filename=/bake/', `filename=${bake}/`)
}

/** Images are in the server's data directory or shared. */
async function findWithTap(dataDir: string): Promise<string> {
  const own = join(dataDir, 'images/with-tap')
  return access(own).then(
    () => own,
    () => join(imagesDir, 'with-tap'),
  )
}

/**
 * The floor of a create: the same QEMU with the same snapshot, without isolation, records or HTTP. The time runs from
 * the copy of the disk layer to the guest's first answer.
 */
export class BaselineVm {
  readonly link: GuestLink
  readonly folder: string
  /** The disk's active layer. */
  readonly node: string
  readonly #qemu: ChildProcess
  /** Sends SIGKILL and waits for the end. */
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

  static async restore(recipe: Recipe, overlay?: Overlay): Promise<BaselineVm> {
    const { args, bake, folder, withTap } = recipe
    const own = join(folder, String(++lastNumber), 'vm')
    await mkdir(own, { recursive: true })
    const [, node = '', file = ''] = ACTIVE.exec(args.join(' ')) ?? []
    await copyFile(join(bake, 'overlay.qcow2'), join(own, file))
    const memory = overlay?.memory ?? join(bake, 'memory')
    const line = (overlay ? overlaid(args, overlay) : args).map((arg) => withMemory(arg, memory))
    const state = await open(overlay?.state ?? join(bake, 'state'), 'r')
    const tap = withTap === null ? null : takeBaselineTap()
    const [program = '', ...rest] = withTap === null || tap === null ? line : [withTap, tap, String(TAP_FD), ...line]
    const qemu = spawn(program, rest, {
      cwd: own,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', state.fd],
    })
    await once(qemu, 'spawn')
    await state.close()
    const link = await GuestLink.connect(join(own, 'guest.sock'), Deadline.after(RESTORE_MS, 'baseline restore'))
    return new BaselineVm(own, node, qemu, link, tap)
  }

  /** Starts a VM and releases its processes. A restored guest holds them until then. */
  static async running(recipe: Recipe): Promise<BaselineVm> {
    const vm = await BaselineVm.restore(recipe)
    const present = { time: new Date(), entropy: randomBytes(64) }
    await vm.link.release(present, Deadline.after(RESTORE_MS, 'release of a baseline VM'))
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
    if (this.#tap !== null) releaseBaselineTap(this.#tap)
    await rm(this.folder, { recursive: true, force: true })
  }
}

function withMemory(arg: string, memory: string): string {
  return arg.replace(MEMORY, (_all, size: string) => `size=${size}M,mem-path=${memory}`)
}

/** Inserts one more layer below the active one, and renames the active one, because the frozen layer has its name. */
function overlaid(args: readonly string[], { layer }: Overlay): string[] {
  const at = args.findIndex((arg) => ACTIVE.test(arg))
  const frozen = `driver=qcow2,node-name=frozen,read-only=on,file.driver=file,file.filename=${layer},backing=bake`
  const active = (args[at] ?? '').replace('backing=bake', 'backing=frozen')
  return [...args.slice(0, at), frozen, '-blockdev', active, ...args.slice(at + 1)]
}
