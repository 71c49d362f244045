import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Qemu, qemuSeries } from '../host/qemu.ts'
import { BOOT_DISK, bootArguments, isHostCpu, LAYOUT_VERSION, machineArguments, type Machine } from './machine.ts'
import { EMPTY_DEVICES } from './volume-devices.ts'

export interface FingerprintInputs {
  readonly qemu: Pick<Qemu, 'version' | 'build'>
  readonly machine: Machine
  /** The template image's own version. */
  readonly imageVersion: string
  /** Of kernel and initramfs. */
  readonly bootHash: string
}

/** Names everything a bake depends on: where it differs, the template is baked anew. */
export async function fingerprint({ imageVersion, bootHash, ...inputs }: FingerprintInputs): Promise<string> {
  return digest({ ...(await machineParts(inputs)), bootHash, imageVersion })
}

/**
 * Names what restoring a device state depends on, and nothing else, so that a checkpoint survives updates of the host:
 *
 * - QEMU's series: within one, its format of device states does not change (QEMU's stable branches take fixes only);
 * - the options that say what the machine consists of, in their order;
 * - where the guest has the host's own CPU, the features of that.
 *
 * Not the speed of the time-stamp counter: a guest that has booted never measures it again (see {@link isSameCounter}).
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
 * Whether a guest's clock, which counts at the speed that its kernel was booted with, keeps time on this host: it is set
 * whenever the guest is restored, and may be wrong by this share of the time after that.
 */
export function isSameCounter(bootedKhz: number, hostKhz: number): boolean {
  return Math.abs(bootedKhz - hostKhz) <= hostKhz * COUNTER_TOLERANCE
}

export type MachineInputs = Pick<FingerprintInputs, 'qemu' | 'machine'>

/** Twice the error of a measurement (`machine/host/tsc.ts`): at most 86 s a day. */
const COUNTER_TOLERANCE = 0.001

/** Options that say what the guest's machine is. All others are about the host: sockets, files, how QEMU is confined. */
const STATE_OPTIONS = new Set(['-M', '-cpu', '-m', '-smp', '-device', '-global'])

export function stateOptions(args: readonly string[]): string[] {
  return args.filter((_arg, at) => STATE_OPTIONS.has(args[at] ?? '') || STATE_OPTIONS.has(args[at - 1] ?? ''))
}

async function machineParts({ qemu, machine }: MachineInputs) {
  return {
    layout: LAYOUT_VERSION,
    qemu: [qemu.version, qemu.build],
    machine: machineArguments(machine, { path: 'memory', isShared: false }, BOOT_DISK, EMPTY_DEVICES),
    boot: bootArguments(machine, 'vmlinuz', 'initramfs'),
    // Any other CPU is one of QEMU's models, which the machine names.
    cpu: isHostCpu(machine) ? await hostFeatures() : null,
  }
}

export function digest(parts: object): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** Which CPU it is and what it can do. The microcode's own version changes neither. */
async function hostFeatures(): Promise<string> {
  const [first = ''] = (await readFile('/proc/cpuinfo', 'utf8')).split('\n\n')
  const lines = first.split('\n').filter((line) => /^(vendor_id|cpu family|model|stepping|flags)\s*:/.test(line))
  return lines.map((line) => line.split(/\s+/).toSorted().join(' ')).join('\n')
}

/** Fields of the first CPU in /proc/cpuinfo, as they stand there. */
export async function hostCpu(fields: readonly string[]): Promise<string> {
  const [first = ''] = (await readFile('/proc/cpuinfo', 'utf8')).split('\n\n')
  return first
    .split('\n')
    .filter((line) => fields.includes(line.split(':')[0]?.trim() ?? ''))
    .join('\n')
}
