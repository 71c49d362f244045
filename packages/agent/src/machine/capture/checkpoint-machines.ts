import type { Checkpoint } from '../../store/checkpoints/checkpoint.ts'
import type { CheckpointMachines } from '../../store/checkpoints/checkpoints.ts'
import type { Qemu } from '../host/qemu.ts'
import { earlierMachineFingerprint } from '../vm/earlier-fingerprint.ts'
import type { EarlierMachine } from '../vm/earlier-machines.ts'
import { isSameCounter, machineFingerprint } from '../vm/machine-fingerprint.ts'
import type { Machine } from '../vm/machine.ts'

/**
 * A machine restores the checkpoints that were captured on one with the same fingerprint and a time-stamp counter of the same speed.
 * @param earlier under which checkpoints were made that name their machine in the earlier form
 */
export function checkpointMachines(qemu: Qemu, earlier: readonly EarlierMachine[] = []): CheckpointMachines<Machine> {
  return {
    describe: async (machine) => ({ machine: await machineFingerprint({ qemu, machine }), tsc_khz: machine.tscKhz }),
    isRestorable: async (content, machine) => isRestorable(content, { qemu, earlier }, machine),
  }
}

async function isRestorable(
  content: Pick<Checkpoint, 'machine' | 'tsc_khz'>,
  { qemu, earlier }: { readonly qemu: Qemu; readonly earlier: readonly EarlierMachine[] },
  machine: Machine,
): Promise<boolean> {
  const { tsc_khz: bootedKhz, machine: named } = content
  const now = await machineFingerprint({ qemu, machine })
  if (bootedKhz !== undefined) return named === now && isSameCounter(bootedKhz, machine.tscKhz)
  const { version, build } = qemu
  for (const each of [{ version, build, tsc_khz: machine.tscKhz }, ...earlier]) {
    const then = {
      qemu: { ...qemu, version: each.version, build: each.build },
      machine: { ...machine, tscKhz: each.tsc_khz },
    }
    if (named !== (await earlierMachineFingerprint(then))) continue
    return isSameCounter(each.tsc_khz, machine.tscKhz) && now === (await machineFingerprint(then))
  }
  return false
}
