import { CheckpointDamaged } from '../../store/checkpoints/checkpoint-errors.ts'
import { findVmProcesses, jailRootOf } from '../../machine/host/find-vm-processes.ts'
import { qemuSeries } from '../../machine/host/qemu.ts'
import type { Host, HostStore } from '../model/host.ts'

/**
 * Removes the roots of earlier QEMUs that no VM runs in and no checkpoint needs. Keeps all of them while a record or
 * checkpoint is unreadable, because it may need any of them, and while a snapshot is being made.
 */
export async function sweepQemuVersions(host: Host): Promise<void> {
  const { ledger, snapshots } = host.store
  const { qemus } = host.platform
  const { log } = host
  if (qemus.earlier.length === 0 || !ledger.isComplete('sandbox', 'snapshot')) return
  if (snapshots.all.some(({ id }) => !snapshots.has(id))) return
  try {
    const [roots, series] = [await rootsInUse(host.store), await neededSeries(host)]
    for (const each of qemus.earlier) {
      const root = each.jail?.root
      // Of several versions in a series, only the preferred one restores checkpoints.
      const isNeeded = series.has(qemuSeries(each.version)) && qemus.of(each.version) === each
      if (root === undefined || roots.has(root) || isNeeded) continue
      qemus.forget(each)
      await ledger.discard('qemu', root, 'no VM and no checkpoint needs this version of QEMU')
      log.info({ version: each.version }, 'earlier version of QEMU removed')
    }
    const versions = qemus.earlier.map(({ version }) => version)
    if (versions.length > 0) log.info({ versions }, 'earlier versions of QEMU kept: VMs or checkpoints need them')
  } catch (error) {
    if (!(error instanceof CheckpointDamaged)) throw error
    log.warn({ err: error }, 'a damaged checkpoint may need any version of QEMU: all are kept')
  }
}

/** Roots of the jails of all VMs, whether or not they belong to a sandbox. */
async function rootsInUse({ dir }: HostStore): Promise<Set<string>> {
  const launchers = (await findVmProcesses(dir.root)).flatMap(({ launcher }) => launcher ?? [])
  const roots = await Promise.all(launchers.map(jailRootOf))
  return new Set(roots.filter((root) => root !== null))
}

/**
 * The series of all checkpoints, of running VMs, which may be forked, and of VMs that are being started.
 * @throws CheckpointDamaged
 */
async function neededSeries({
  sandboxes,
  store: { snapshots, dir, checkpoints },
  platform: { machines },
}: Host): Promise<Set<string>> {
  const versions: (string | null | undefined)[] = []
  for (const { id, manifest } of sandboxes.values()) {
    if (manifest.status !== 'hibernated') versions.push(manifest.qemu_version)
    else if (!manifest.cold) versions.push(await checkpoints.findQemu(dir.hibernation(id), machines.of))
  }
  for (const { id } of snapshots.all) versions.push(await checkpoints.findQemu(snapshots.folder(id), machines.of))
  return new Set(versions.flatMap((version) => (version == null ? [] : qemuSeries(version))))
}
