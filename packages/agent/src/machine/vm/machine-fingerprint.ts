import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Qemu, qemuSeries } from '../host/qemu.ts'
import { BOOT_DISK, bootArguments, isHostCpu, LAYOUT_VERSION, machineArguments, type Machine } from './machine.ts'
import { EMPTY_DEVICES } from './volume-devices.ts'

export interface FingerprintInputs {
  readonly qemu: Pick<Qemu, 'version' | 'build'>
  readonly machine: Machine
  /** The version of the template image. */
  readonly imageVersion: string
  /** Hash of kernel and initramfs. */
  readonly bootHash: string
}

/** Raise it when the memory of a bake has other pages in its cache (`bakes/warm-guest.ts`). */
const WARMTH_VERSION = 3

/** A hash of everything that a bake depends on. If it changes, the template is baked again. */
export async function fingerprint({ imageVersion, bootHash, ...inputs }: FingerprintInputs): Promise<string> {
  return digest({ ...(await machineParts(inputs)), bootHash, imageVersion, warmth: WARMTH_VERSION })
}

/**
 * A hash of everything that restoring a device state depends on, and of nothing else, so that a checkpoint survives updates
 * of the host:
 *  - QEMU's series: the format of device states does not change within a series (QEMU's stable branches take fixes only);
 *  - the options that define the machine, in their order;
 *  - the features of the host's CPU, if the guest has that CPU.
 * Not the frequency of the time-stamp counter: a booted guest never measures it again (see {@link isSameCounter}).
 */
export async function machineFingerprint({
  qemu,
  machine,
}: {
  readonly qemu: Pick<Qemu, 'version'>
  readonly machine: Machine
}): Promise<string> {
  const args = machineArguments(machine, { path: 'memory', isShared: false }, BOOT_DISK, EMPTY_DEVICES)
  const cpu = isHostCpu(machine) ? await hostFeatures() : null
  const { accelerator, network } = machine
  const parts = { layout: LAYOUT_VERSION, qemu: qemuSeries(qemu.version), accelerator, network }
  return digest({ ...parts, machine: stateOptions(args), cpu })
}

/**
 * Whether the clock of a guest is accurate enough on this host. It counts at the frequency of the host on which the guest
 * booted. The agent sets it at each restore; afterwards it may be wrong by this share of the time.
 */
export function isSameCounter(bootedKhz: number, hostKhz: number): boolean {
  return Math.abs(bootedKhz - hostKhz) <= hostKhz * COUNTER_TOLERANCE
}

export type MachineInputs = Pick<FingerprintInputs, 'qemu' | 'machine'>

/** Twice the error of a measurement (`machine/host/tsc.ts`): at most 86 s per day. */
const COUNTER_TOLERANCE = 0.001

/** The options that define the guest's machine. All others concern the host: sockets, files, confinement, threads. */
const STATE_OPTIONS = new Set(['-M', '-cpu', '-m', '-smp', '-device'])

export function stateOptions(args: readonly string[]): string[] {
  return args.filter((_arg, at) => STATE_OPTIONS.has(args[at] ?? '') || STATE_OPTIONS.has(args[at - 1] ?? ''))
}

async function machineParts({ qemu, machine }: MachineInputs) {
  return {
    layout: LAYOUT_VERSION,
    qemu: [qemu.version, qemu.build],
    machine: machineArguments(machine, { path: 'memory', isShared: false }, BOOT_DISK, EMPTY_DEVICES),
    boot: bootArguments(machine, 'vmlinuz', 'initramfs'),
    // Any other CPU is a model of QEMU, which the machine's options name.
    cpu: isHostCpu(machine) ? await hostFeatures() : null,
  }
}

export function digest(parts: object): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** The CPU's model and features. The version of its microcode changes neither. */
async function hostFeatures(): Promise<string> {
  const [first = ''] = (await readFile('/proc/cpuinfo', 'utf8')).split('\n\n')
  const lines = first.split('\n').filter((line) => /^(vendor_id|cpu family|model|stepping|flags)\s*:/.test(line))
  return lines.map((line) => line.split(/\s+/).toSorted().join(' ')).join('\n')
}

/** Fields of the first CPU in /proc/cpuinfo, unchanged. */
export async function hostCpu(fields: readonly string[]): Promise<string> {
  const [first = ''] = (await readFile('/proc/cpuinfo', 'utf8')).split('\n\n')
  return first
    .split('\n')
    .filter((line) => fields.includes(line.split(':')[0]?.trim() ?? ''))
    .join('\n')
}
