import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Qemu } from '../host/qemu.ts'
import { BOOT_DISK, bootArguments, isHostCpu, LAYOUT_VERSION, machineArguments, type Machine } from './machine.ts'
import { EMPTY_DEVICES } from './volume-devices.ts'

export interface FingerprintInputs {
  readonly qemu: Qemu
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

/** Names everything a device state depends on: another fingerprint means that it must not be loaded. */
export async function machineFingerprint(inputs: Pick<FingerprintInputs, 'qemu' | 'machine'>): Promise<string> {
  return digest(await machineParts(inputs))
}

async function machineParts({ qemu, machine }: Pick<FingerprintInputs, 'qemu' | 'machine'>) {
  return {
    layout: LAYOUT_VERSION,
    qemu: [qemu.version, qemu.build],
    machine: machineArguments(machine, { path: 'memory', isShared: false }, BOOT_DISK, EMPTY_DEVICES),
    boot: bootArguments(machine, 'vmlinuz', 'initramfs'),
    // Any other CPU is one of QEMU's models, which the machine names.
    cpu: isHostCpu(machine) ? await hostCpu() : null,
  }
}

function digest(parts: object): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** Which CPU it is and what it can do. The microcode's own version changes neither. */
async function hostCpu(): Promise<string> {
  const [first = ''] = (await readFile('/proc/cpuinfo', 'utf8')).split('\n\n')
  const lines = first.split('\n').filter((line) => /^(vendor_id|cpu family|model|stepping|flags)\s*:/.test(line))
  return lines.map((line) => line.split(/\s+/).toSorted().join(' ')).join('\n')
}
