import type { VmEnd } from '../../machine/vm/launch.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { rebootSandbox } from './reboot-sandbox.ts'
import { announce, type Host, type HostStore } from '../model/host.ts'
import { keepDisk } from './keep-disk.ts'
import { writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { releaseVolumes } from '../volumes/sandbox-volumes.ts'
import { sweepLayersSoon } from '../cleanup/sweep-layers.ts'

/** Counts what a sandbox's VM uses, and makes the sandbox `failed` when the VM ends without having been told to. */
export function watchVm(host: Host, sandbox: Sandbox, vm: Vm): void {
  host.usage.attach(sandbox, vm)
  void vm.ended
    .then((end) => sandbox.transitions.runNext(() => loseVm(host, sandbox, vm, end)))
    .catch((error: unknown) => host.log.error({ err: error, sandbox_id: sandbox.id }, 'end of VM not recorded'))
}

async function loseVm(host: Host, sandbox: Sandbox, vm: Vm, end: VmEnd): Promise<void> {
  // What ends a VM on purpose has taken it away from its sandbox before.
  if (sandbox.vm !== vm || sandbox.leaving.signal.aborted) return
  // In the same turn: a sweep between the two would remove the layers.
  sandbox.lost = { end, layers: vm.disk === null ? [] : [...vm.disk.layers, vm.disk.active] }
  sandbox.vm = null
  await vm.detach()
  await recordLoss(host, sandbox, end)
}

/**
 * Records that the VM of a sandbox has ended: a durable sandbox keeps its disk and is hibernated, any other has failed. The
 * reconciliation does it again where it could not be recorded, for want of room on the disk for example.
 */
export async function recordLoss(host: Host, sandbox: Sandbox, { exitCode, signal }: VmEnd): Promise<void> {
  const wasRunning = sandbox.manifest.status === 'running'
  const announceOnce = async () => {
    if (host.store.events.position(sandbox.id)?.type !== 'vm.died')
      await announceDeath(host.store, sandbox, exitCode, signal)
  }
  const disk = await keepDisk(host, sandbox, announceOnce)
  if (disk === 'kept') {
    sandbox.lost = null
    if (wasRunning) rebootSandbox(host, sandbox)
    return
  }
  try {
    // Whoever sees that it has failed finds the event, too.
    await announceOnce()
  } finally {
    sandbox.manifest = { ...sandbox.manifest, status: 'failed', qemu: null }
    releaseVolumes(host.store, sandbox)
  }
  // With an unknown disk the manifest stays as it was: the next start tries again to find what the disk consists of.
  if (disk === 'none') await writeManifest(host.store.dir.sandbox(sandbox.id), sandbox.manifest)
  sandbox.lost = null
  await host.platform.cgroups?.remove(sandbox.manifest.slot)
  sweepLayersSoon(host)
}

export async function announceDeath(
  store: HostStore,
  sandbox: Sandbox,
  exitCode: number | null,
  signal: string | null,
): Promise<void> {
  const how = signal === null ? `exit code ${exitCode ?? 'unknown'}` : `signal ${signal}`
  await announce(store, sandbox, {
    type: 'vm.died',
    message: `VM process ended unexpectedly (${how})`,
    metadata: { exit_code: exitCode, ...(signal === null ? {} : { signal }) },
  })
}
