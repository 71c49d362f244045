import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Qemu } from '../host/qemu.ts'
import { bootArguments, LAYOUT_VERSION, machineArguments, type Machine } from './machine.ts'

export interface FingerprintInputs {
  readonly qemu: Qemu
  readonly machine: Machine
  /** The template image's own version. */
  readonly imageVersion: string
  /** Of kernel and initramfs. */
  readonly bootHash: string
}

/** Names everything a restored state depends on: another fingerprint means that the state must not be loaded. */
export async function fingerprint(inputs: FingerprintInputs): Promise<string> {
  const { qemu, machine, imageVersion, bootHash } = inputs
  const memory = { path: 'memory', isShared: false }
  const parts = {
    layout: LAYOUT_VERSION,
    qemu: [qemu.version, qemu.build],
    machine: machineArguments(machine, memory),
    boot: bootArguments(machine, 'vmlinuz', 'initramfs'),
    // Under KVM the guest sees the host's own CPU.
    cpu: machine.accelerator === 'kvm' ? await hostCpu() : null,
    bootHash,
    imageVersion,
  }
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

async function hostCpu(): Promise<string> {
  const [first = ''] = (await readFile('/proc/cpuinfo', 'utf8')).split('\n\n')
  return first
    .split('\n')
    .filter((line) => /^(model name|stepping|microcode|flags)\s*:/.test(line))
    .join('\n')
}
