import { chown, copyFile, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { capture, type Capture, type Captured } from '../machine/capture/capture.ts'
import type { Checkpoint } from '../store/checkpoints/checkpoint.ts'
import { Checkpoints } from '../store/checkpoints/checkpoints.ts'
import { VerifiedFiles } from '../store/checkpoints/verified-files.ts'
import { checkpointMachines } from '../machine/capture/checkpoint-machines.ts'
import { CaptureThreads } from '../machine/capture/capture-threads.ts'
import { durableSeal } from '../machine/capture/durable-seal.ts'
import { Thread } from '../machine/capture/thread.ts'
import type { Machine } from '../machine/vm/machine.ts'
import { loadSigningKeys, type SigningKeys } from '../store/checkpoints/signing-key.ts'
import { pino } from 'pino'
import { Layers } from '../store/disks/layers.ts'
import { chooseAccelerator } from '../machine/host/accelerator.ts'
import { DataDir } from '../store/data-dir/data-dir.ts'
import { openJail } from '../machine/host/jail.ts'
import { findQemu, type Qemu } from '../machine/host/qemu.ts'
import { Bakes, type BakedTemplate } from '../machine/bakes/bakes.ts'
import { runCommand } from '../machine/guest/command.ts'
import type { Confinement } from '../machine/vm/confinement.ts'
import { releaseGuest } from '../machine/guest/hold.ts'
import { measureTscKhz } from '../machine/host/tsc.ts'
import { Images } from '../store/bakes/images.ts'
import { restore, type Restore } from '../machine/restore/restore.ts'
import type { Vm } from '../machine/vm/vm.ts'
import { usedQemu } from './other-qemu.ts'
import { shareBakes } from './shared-bakes.ts'

const LIFE_MS = 100_000
const MAX_OUTPUT_BYTES = 64 * 1024

/** A user id that belongs to no slot of an agent. */
const UID = process.getuid?.() === 0 ? 199_000 : null

/** A data directory with one baked template, and its VMs, without an agent. */
export class VmHost {
  readonly deadline = Deadline.after(LIFE_MS, 'test')
  readonly dir: DataDir
  readonly qemu: Qemu
  readonly baked: BakedTemplate
  readonly confinement: Confinement
  readonly layers: Layers
  readonly checkpoints: Checkpoints<Machine>
  readonly captureThreads = new CaptureThreads()
  readonly #vms = new Set<Vm>()
  #lastNumber = 0

  private constructor(
    dir: DataDir,
    qemu: Qemu,
    confinement: Confinement,
    baked: BakedTemplate,
    keys: SigningKeys,
    writeOut: string,
  ) {
    this.dir = dir
    this.confinement = confinement
    this.qemu = qemu
    this.baked = baked
    this.layers = new Layers(dir, pino({ level: 'silent' }))
    this.checkpoints = new Checkpoints({
      root: dir.root,
      keys,
      layers: this.layers,
      files: new VerifiedFiles(durableSeal(new Thread(), writeOut)),
      machines: checkpointMachines(() => [qemu]),
    })
  }

  /**
   * @param memoryMib overrides the template's memory
   * @param hasJail without one, VMs run with the host's own QEMU
   */
  static async open(memoryMib?: number, template = 'minimal', hasJail = UID !== null): Promise<VmHost> {
    const imagesDir = process.env['OFFSHOOT_IMAGES_DIR']
    if (imagesDir === undefined) throw new Error('OFFSHOOT_IMAGES_DIR must name the built images')
    const deadline = Deadline.after(LIFE_MS, 'a baked template')
    const place = await realpath(await mkdtemp(join(tmpdir(), 'offshoot-vms-')))
    const dir = await DataDir.open(join(place, 'agent'))
    const images = new Images(imagesDir)
    await copyFile(images.preload, dir.preload)
    const qemu = await (hasJail ? usedQemu(imagesDir) : findQemu(deadline))
    const parts = { qemu, launcher: images.jail, preload: images.preload }
    const confinement = { uid: UID, jail: hasJail ? await openJail(dir.qemu, parts, deadline) : null }
    const slot = () => Promise.resolve({ confinement, tap: null })
    const { usable } = await images.templates([template])
    const [found] = usable
    if (!found) throw new Error(`${template} has not been built`)
    const image = { ...found, memory_mb: memoryMib ?? found.memory_mb }
    const bake = async () => {
      const { accelerator, tscKhz } = await chooseAccelerator({
        path: dir.acceleratorFile,
        tried: qemu.version,
        wanted: 'tcg',
        retriesFailure: false,
        probe: () => Promise.reject(new Error('nobody asked for KVM')),
        measure: (known, deadline) => measureTscKhz(images.tscKhz, known, deadline),
      })
      const machineOf = ({ cpu, memory_mb }: { cpu: number; memory_mb: number }) => ({
        accelerator,
        tscKhz,
        vcpus: cpu,
        memoryMib: memory_mb,
        network: 'user' as const,
      })
      return new Bakes({ folder: dir.bakes, images, qemu, slot, machineOf }).ensure(image)
    }
    await shareBakes(`vm-host-${qemu.version}-${template}-${image.memory_mb}`, dir.root, bake)
    const baked = await bake()
    const keys = await loadSigningKeys(dir.checkpointKey, console)
    return new VmHost(dir, qemu, confinement, baked, keys, images.writeOut)
  }

  get uid(): number | null {
    return UID
  }

  /** Restores a VM from the template or from a checkpoint. */
  async start(
    checkpoint: Restore['checkpoint'] = null,
    greet: Restore['greet'] = releaseGuest,
    volumes: Restore['volumes'] = [],
    isDurable = false,
  ): Promise<Vm> {
    const options = { ...(await this.restoreOptions()), checkpoint, greet, volumes, isDurable }
    const vm = await restore(options, this.deadline)
    this.#vms.add(vm)
    return vm
  }

  async restoreOptions(): Promise<Omit<Restore, 'checkpoint' | 'greet'>> {
    const sandbox = this.dir.sandbox(String(++this.#lastNumber) as SandboxId)
    const folder = join(sandbox, 'vm')
    await mkdir(folder, { recursive: true, mode: 0o711 })
    if (this.uid !== null) await chown(folder, this.uid, this.uid)
    return {
      qemu: this.qemu.path,
      preload: this.dir.preload,
      machine: this.baked.machine,
      bake: this.baked.folder,
      layers: this.layers,
      volumes: [],
      folder,
      logPath: join(sandbox, 'qemu.log'),
      confinement: this.confinement,
      tap: null,
      boot: null,
      isDurable: false,
    }
  }

  async capture(vm: Vm, name: string, change: Partial<Capture> = {}): Promise<Captured> {
    const options: Capture = {
      folder: join(this.dir.snapshots, name),
      bake: this.baked.folder,
      memoryMib: this.baked.machine.memoryMib,
      uid: this.uid,
      layers: this.layers,
      saving: this.captureThreads.saving,
      savingBeside: this.captureThreads.savingBeside,
      leave: 'as-before',
      ...change,
    }
    return capture(vm, options, this.deadline)
  }

  async seal(captured: Captured): Promise<Checkpoint> {
    const { image, manifest, machine } = this.baked
    const origin = {
      bake: `${image.name}/${manifest.fingerprint}`,
      template: image.name,
      cpu: image.cpu,
      memory_mb: image.memory_mb,
      guest_ip: manifest.guest_ip,
      created_at: new Date().toISOString(),
    }
    return this.checkpoints.seal({ ...captured, qemuVersion: this.qemu.version }, origin, machine, this.deadline)
  }

  /** The trimmed output of a command in a guest. @throws Error if it fails */
  async sh(vm: Vm, command: string): Promise<string> {
    const link = await vm.link(this.deadline)
    const options = { stdin: undefined, maxBytes: MAX_OUTPUT_BYTES, stop: this.deadline.signal }
    const { stdout, stderr, exitCode } = await runCommand(link, { argv: ['/bin/sh', '-c', command] }, options)
    const text = stdout.bytes.toString('utf8')
    if (exitCode !== 0) throw new Error(`${command}: exit code ${exitCode}: ${text}${stderr.bytes.toString('utf8')}`)
    return text.trim()
  }

  async end(vm: Vm): Promise<void> {
    await vm.kill(this.deadline)
    this.#vms.delete(vm)
  }

  async close(): Promise<void> {
    for (const vm of this.#vms) await vm.kill(Deadline.after(LIFE_MS, 'end of a VM'))
    await rm(dirname(this.dir.root), { recursive: true, force: true })
  }
}
