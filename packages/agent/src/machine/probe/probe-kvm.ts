/**
 * Runs the whole life cycle of a guest under an accelerator, with the modules, user, network and limits of sandboxes.
 *
 *     cpu ─► boot ─► bake ─► restore ─► second restore ─► fork ─► hibernate ─► wake
 *
 * The result names the first failing step and the reason. The probe always ends its VMs and removes its files. If the agent
 * is killed, the kernel kills the VMs with it, and the next start removes the files.
 */
import { existsSync } from 'node:fs'
import { chown, mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { capture, type Capture } from '../capture/capture.ts'
import { Layers } from '../../store/disks/layers.ts'
import { endVmProcesses } from '../host/end-vm-processes.ts'
import { findVmProcesses } from '../host/find-vm-processes.ts'
import { bake } from '../bakes/bake.ts'
import type { BakePlace } from '../bakes/bakes.ts'
import { checkGuest, Mark } from './check-guest.ts'
import { findCpuModel } from './cpu-model.ts'
import { guestIdentity, PLACEHOLDER_ID, PLACEHOLDER_NETWORK } from '../guest/guest-identity.ts'
import { releaseGuest } from '../guest/hold.ts'
import type { BakeImages } from '../../store/bakes/images.ts'
import type { Machine } from '../vm/machine.ts'
import { prepareGuest } from '../bakes/prepare-guest.ts'
import { explainFailure, restore, type Greet, type Restore } from '../restore/restore.ts'
import type { Vm } from '../vm/vm.ts'

export const PROBE_STEPS = ['cpu', 'boot', 'bake', 'restore', 'second restore', 'fork', 'hibernate', 'wake'] as const
export type ProbeStep = (typeof PROBE_STEPS)[number]

export type ProbeResult =
  | {
      readonly works: true
      /** The machine for guests, with the CPU model that the probe chose. */ readonly machine: Machine
    }
  | {
      readonly works: false
      readonly step: ProbeStep
      /** One line. */
      readonly reason: string
      /** The step exceeded its time limit. */
      readonly isTimeout: boolean
    }

export interface ProbeLimits {
  /** Milliseconds from the start of QEMU to the guest's first answer. On some hosts vCPUs exist and no guest ever boots. */
  readonly bootMs: number
  /** Milliseconds for each of the other steps. */
  readonly stepMs: number
}

/** Many times what a guest should need on hardware. This is an estimate without a measurement on hardware. */
export const PROBE_LIMITS: ProbeLimits = { bootMs: 10_000, stepMs: 20_000 }

export interface Probe {
  readonly qemu: string
  /** See `Restore.preload`. */
  readonly preload: string
  readonly machine: Machine
  /** Under KVM: the CPU model to use; `null`: the newest that the host offers. */
  readonly cpu: string | null
  /** See `CpuQuery.lastCpu`. */
  readonly lastCpu: string | null
  readonly images: BakeImages
  readonly image: TemplateImage
  /** A folder in the agent's data directory that only probes use. */
  readonly folder: string
  /** Users, networks and limits of two VMs that run at the same time. */
  readonly places: readonly [BakePlace, BakePlace]
  readonly limits: ProbeLimits
  readonly threads: Pick<Capture, 'saving' | 'savingBeside'>
}

const FINGERPRINT = 'probe'
const KILL_MS = 10_000
const MAX_REASON_CHARS = 600

export async function probeMachine(probe: Probe): Promise<ProbeResult> {
  const run = new ProbeRun(probe)
  try {
    await run.prepare()
    return { works: true, machine: await run.all() }
  } catch (error) {
    return { works: false, step: run.step, reason: oneLine(error), isTimeout: error instanceof DeadlineExceeded }
  } finally {
    await run.end()
  }
}

/** Ends the VMs of an interrupted probe, and removes its folder. */
export async function endProbe(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  await endVmProcesses(await findVmProcesses(folder))
  await rm(folder, { recursive: true, force: true })
}

class ProbeRun {
  step: ProbeStep = 'cpu'
  readonly #probe: Probe
  readonly #bake: string
  readonly #layers: Layers
  #machine: Machine
  readonly #vms = new Set<Vm>()
  #started = 0

  constructor(probe: Probe) {
    this.#probe = probe
    this.#machine = probe.machine
    // Overlays name their bake by a relative path, so the folders need the same depth as the agent's own (`bake.ts`).
    this.#bake = join(probe.folder, 'bakes', probe.image.name, FINGERPRINT)
    const layers = join(probe.folder, 'layers')
    // A probe retires no layers, because its folder is removed as a whole.
    this.#layers = new Layers({ layers, retiredLayers: layers }, { error: () => undefined })
  }

  async prepare(): Promise<void> {
    const { folder } = this.#probe
    await endProbe(folder)
    await mkdir(folder, { mode: 0o711 })
    for (const name of ['bakes', 'sandboxes']) await mkdir(join(folder, name), { mode: 0o711 })
    for (const name of ['layers', 'checkpoints']) await mkdir(join(folder, name), { mode: 0o700 })
  }

  async all(): Promise<Machine> {
    const [place, otherPlace] = this.#probe.places
    if (this.#machine.accelerator === 'kvm') await this.#chooseCpu(place)
    this.step = 'boot'
    await this.#bakeOnce(place)

    const first = await this.#begin('restore', (deadline) => this.#restore(place, null, this.#introduce, deadline))
    const mark = new Mark('of the first VM')
    await this.#inStep(first, (deadline) => checkGuest(first, mark, deadline))

    const second = await this.#begin('second restore', (deadline) =>
      this.#restore(otherPlace, null, this.#introduce, deadline),
    )
    await this.#inStep(second, (deadline) => checkGuest(second, new Mark('of the second VM'), deadline))
    await this.#kill(second)

    const child = await this.#begin('fork', async (deadline) => {
      const captured = await this.#capture(first, place, 'as-before', deadline)
      return this.#restore(otherPlace, captured, this.#introduce, deadline)
    })
    // Parent and child both have the mark, and run independently.
    for (const vm of [child, first]) await this.#inStep(vm, (deadline) => checkGuest(vm, mark, deadline))
    await this.#kill(child)

    this.step = 'hibernate'
    const checkpoint = await this.#inStep(first, (deadline) => this.#capture(first, place, 'stopped', deadline))
    await this.#kill(first)

    const woken = await this.#begin('wake', (deadline) => this.#restore(place, checkpoint, releaseGuest, deadline))
    await this.#inStep(woken, (deadline) => checkGuest(woken, mark, deadline))
    return this.#machine
  }

  async end(): Promise<void> {
    for (const vm of this.#vms) await vm.kill(Deadline.after(KILL_MS, 'end of a VM of a probe')).catch(() => undefined)
    await endProbe(this.#probe.folder)
  }

  async #chooseCpu(place: BakePlace): Promise<void> {
    const { qemu, cpu, lastCpu } = this.#probe
    const folder = await this.#ownFolder(place)
    const model = cpu ?? (await findCpuModel({ qemu, folder, place, lastCpu }, this.#deadline()))
    const { kernelParameters = [], hasVhostNet = false } = this.#machine.kvm ?? {}
    this.#machine = { ...this.#machine, kvm: { cpu: model, kernelParameters, hasVhostNet } }
  }

  async #bakeOnce(place: BakePlace): Promise<void> {
    const { qemu, images, image, limits } = this.#probe
    const machine = this.#machine
    const deadline = Deadline.after(limits.bootMs + limits.stepMs, 'bake of a guest')
    const options = { qemu, machine, images, image, ...place, folder: this.#bake, fingerprint: FINGERPRINT }
    const prepare: typeof prepareGuest = (...booted) => {
      this.step = 'bake'
      return prepareGuest(...booted)
    }
    await bake({ ...options, bootMs: limits.bootMs, prepare }, deadline)
  }

  async #begin(step: ProbeStep, start: (deadline: Deadline) => Promise<Vm>): Promise<Vm> {
    this.step = step
    return start(this.#deadline())
  }

  /** Runs a part of the current step. If the VM ends, QEMU's last log lines become the reason. */
  async #inStep<T>(vm: Vm, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    try {
      return await work(this.#deadline())
    } catch (error) {
      throw await explainFailure(vm, error)
    }
  }

  #deadline(): Deadline {
    return Deadline.after(this.#probe.limits.stepMs, this.step)
  }

  async #restore(
    { confinement, tap, limit }: BakePlace,
    checkpoint: Restore['checkpoint'],
    greet: Greet,
    deadline: Deadline,
  ): Promise<Vm> {
    const { qemu, preload } = this.#probe
    const machine = this.#machine
    const folder = await this.#ownFolder({ confinement })
    const from = { bake: this.#bake, layers: this.#layers, checkpoint, volumes: [], boot: null, isDurable: false }
    const options = {
      qemu,
      preload,
      machine,
      ...from,
      folder,
      logPath: join(dirname(folder), 'qemu.log'),
      confinement,
      tap,
      greet,
    }
    const vm = await restore(options, deadline)
    this.#vms.add(vm)
    await this.#inStep(vm, async () => limit?.(vm.process.pid))
    return vm
  }

  /** QEMU's working directory, at the same depth as a sandbox's. */
  async #ownFolder({ confinement: { uid } }: Pick<BakePlace, 'confinement'>): Promise<string> {
    const own = join(this.#probe.folder, 'sandboxes', String(++this.#started))
    const folder = join(own, 'vm')
    await mkdir(own, { mode: 0o711 })
    await mkdir(folder, { mode: 0o700 })
    if (uid !== null) await chown(folder, uid, uid)
    return folder
  }

  /** Gives the guest an identity, as create and fork do. */
  readonly #introduce: Greet = async (vm, deadline) => {
    const link = await vm.link(deadline)
    const network = this.#machine.network === 'tap' ? PLACEHOLDER_NETWORK : null
    await link.refresh(guestIdentity(PLACEHOLDER_ID, {}, network), deadline).settled
  }

  async #capture(vm: Vm, { confinement }: BakePlace, leave: Capture['leave'], deadline: Deadline) {
    const { folder, threads } = this.#probe
    const { memoryMib } = this.#machine
    const options = { bake: this.#bake, memoryMib, uid: confinement.uid, layers: this.#layers, leave }
    const place = join(folder, 'checkpoints', this.step)
    return capture(vm, { ...options, ...threads, folder: place }, deadline).catch(async (error: unknown) => {
      throw await explainFailure(vm, error)
    })
  }

  async #kill(vm: Vm): Promise<void> {
    await vm.kill(Deadline.after(KILL_MS, 'end of a VM of a probe'))
    this.#vms.delete(vm)
  }
}

function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replaceAll(/\s*\n\s*/g, '; ').slice(0, MAX_REASON_CHARS)
}
