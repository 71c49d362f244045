import type { SandboxLimits } from '@offshoot/contract/sandbox-limits'
import type { Deadline } from '@offshoot/kit/deadline'
import type { Vm } from '../vm/vm.ts'

/** All disks of a VM share its rates: the root disk and its volumes. */
const GROUP = 'sandbox'
const MIB = 1024 * 1024

export type DiskLimits = Pick<SandboxLimits, 'disk_read_mib_s' | 'disk_write_mib_s' | 'disk_iops'>

/**
 * Holds back what a guest reads and writes, in QEMU and in front of its block nodes (docs/adr/0017-limits-of-a-vm.md). The guest's
 * machine stays what it is, and neither captures nor the flattening of a disk wait for it.
 */
export async function throttleDisks(vm: Vm, limits: DiskLimits, deadline: Deadline): Promise<void> {
  const { disk_read_mib_s: read, disk_write_mib_s: write, disk_iops: iops } = limits
  const isLimited = read !== null || write !== null || iops !== null
  if (!isLimited && !vm.isThrottled) return
  vm.isThrottled = true
  const rates = {
    bps: 0,
    bps_rd: (read ?? 0) * MIB,
    bps_wr: (write ?? 0) * MIB,
    iops: iops ?? 0,
    iops_rd: 0,
    iops_wr: 0,
  }
  const devices = await vm.qmp.execute('query-blockstats', {}, deadline)
  const paths = devices.flatMap(({ qdev = '' }) => (qdev === '' ? [] : [qdev]))
  await Promise.all(
    paths.map((id) => vm.qmp.execute('block_set_io_throttle', { id, group: GROUP, ...rates }, deadline)),
  )
  vm.isThrottled = isLimited
}
