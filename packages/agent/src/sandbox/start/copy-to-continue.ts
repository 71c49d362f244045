import type { Deadline } from '@offshoot/kit/deadline'
import { qemuSeries } from '../../machine/host/qemu.ts'
import { ContinuedVm, type ContinueOptions } from '../../machine/zygotes/continued-vm.ts'
import { MAX_LAYERS } from '../../store/disks/disk-chain.ts'
import type { Host } from '../model/host.ts'
import type { PoolZygote } from '../pool/spare.ts'
import { prepareVm, type VmPlace } from './prepare-vm.ts'

/** Series of QEMU whose copies are tested to continue another VM. Others may change what a load does to translated code. */
const SERIES: ReadonlySet<string> = new Set(['7.2', '10.0'])
/** Milliseconds for a copy. If it takes longer, the VM is restored. */
const COPY_MS = 5000

/** The zygote of which a copy can continue a VM with so many layers of its disk; `null`: there is none. */
export function zygoteToContinue(host: Host, place: VmPlace, layers: number): PoolZygote | null {
  const { qemus } = host.platform
  const found = host.zygotes.of(place.bake)
  if (found === null || !found.zygote.canContinue || found.zygote.vm.hasEnded) return null
  const { cpu, memory_mb, durable, qemu_version } = found.seed.manifest
  const { version } = qemus.of(qemu_version)
  const isSame = cpu === place.cpu && memory_mb === place.memory_mb && durable === place.durable
  const fits = layers <= MAX_LAYERS && place.devices.length === 0
  return isSame && fits && version === qemus.of(place.qemu_version).version && SERIES.has(qemuSeries(version))
    ? found
    : null
}

/**
 * Copies the zygote for a VM that is to be continued. It prepares the VM's place, which stays if it fails, without a process.
 * The zygote is given up then, because one that hangs has files of the copy.
 */
export async function copyToContinue(
  host: Host,
  source: PoolZygote,
  place: VmPlace,
  files: Pick<ContinueOptions, 'memory' | 'disk'>,
  deadline: Deadline,
): Promise<ContinuedVm> {
  const options = { ...(await prepareVm(host, place)), ...files, zygote: source.zygote }
  try {
    return await ContinuedVm.start(options, deadline.within(COPY_MS, 'copy of a zygote'))
  } catch (error) {
    deadline.throwIfOver()
    await host.zygotes.discard(source, 'it could not be copied')
    throw error
  }
}
