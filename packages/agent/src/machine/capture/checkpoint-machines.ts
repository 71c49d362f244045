import type { CheckpointMachines } from '../../store/checkpoints/checkpoints.ts'
import type { Qemu } from '../host/qemu.ts'
import { machineFingerprint } from '../vm/machine-fingerprint.ts'
import type { Machine } from '../vm/machine.ts'

/** A machine restores the checkpoints that were captured on one with the same fingerprint. */
export function checkpointMachines(qemu: Qemu): CheckpointMachines<Machine> {
  const fingerprintOf = (machine: Machine) => machineFingerprint({ qemu, machine })
  return {
    describe: async (machine) => ({ machine: await fingerprintOf(machine) }),
    isRestorable: async (content, machine) => content.machine === (await fingerprintOf(machine)),
  }
}
