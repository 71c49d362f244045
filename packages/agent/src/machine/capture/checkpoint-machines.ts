import type { Checkpoint } from '../../store/checkpoints/checkpoint.ts'
import type { CheckpointMachines } from '../../store/checkpoints/checkpoints.ts'
import type { Qemu } from '../host/qemu.ts'
import { earlierMachineFingerprint } from '../vm/earlier-fingerprint.ts'
import type { EarlierMachine } from '../vm/earlier-machines.ts'
import { isSameCounter, machineFingerprint } from '../vm/machine-fingerprint.ts'
import type { Machine } from '../vm/machine.ts'

/** The build of an earlier QEMU is unknown: checkpoints in the earlier form name one of `earlier`. */
type QemuBuild = Pick<Qemu, 'version'> & Partial<Pick<Qemu, 'build'>>

/**
 * A machine restores checkpoints of a machine with the same fingerprint and a time-stamp counter of the same frequency.
 * @param qemus the QEMUs that this host can start, the preferred one first
 * @param earlier machines of earlier agents, for checkpoints that name their machine in the earlier form
 */
export function checkpointMachines(
  qemus: () => readonly QemuBuild[],
  earlier: readonly EarlierMachine[] = [],
): CheckpointMachines<Machine> {
  return {
    describe: async (machine, version) => ({
      machine: await machineFingerprint({ qemu: { version }, machine }),
      tsc_khz: machine.tscKhz,
    }),
    findQemu: async (content, machine) => {
      for (const qemu of qemus()) if (await isRestorable(content, { qemu, earlier }, machine)) return qemu.version
      return null
    },
  }
}

async function isRestorable(
  content: Pick<Checkpoint, 'machine' | 'tsc_khz'>,
  { qemu, earlier }: { readonly qemu: QemuBuild; readonly earlier: readonly EarlierMachine[] },
  machine: Machine,
): Promise<boolean> {
  const { tsc_khz: bootedKhz, machine: named } = content
  const now = await machineFingerprint({ qemu, machine })
  if (bootedKhz !== undefined) return named === now && isSameCounter(bootedKhz, machine.tscKhz)
  for (const { tsc_khz, version, build = '' } of [{ ...qemu, tsc_khz: machine.tscKhz }, ...earlier]) {
    const then = { qemu: { version, build }, machine: { ...machine, tscKhz: tsc_khz } }
    if (named !== (await earlierMachineFingerprint(then))) continue
    return isSameCounter(tsc_khz, machine.tscKhz) && now === (await machineFingerprint(then))
  }
  return false
}
