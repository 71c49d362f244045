import type { VmEnd } from '../../machine/vm/launch.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { rebootSandbox } from './reboot-sandbox.ts'
import { announce, type Host, type HostStore } from '../model/host.ts'
import { keepDisk } from './keep-disk.ts'
import { writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { releaseVolumes } from '../volumes/sandbox-volumes.ts'
import { sweepLayersSoon } from '../cleanup/sweep-layers.ts'

/** Counts the resources that a sandbox's VM uses, and marks the sandbox as `failed` if its VM ends unexpectedly. */
export function watchVm(host: Host, sandbox: Sandbox, vm: Vm): void {
  host.usage.attach(sandbox, vm)
  void vm.ended
    .then((end) => sandbox.transitions.runNext(() => loseVm(host, sandbox, vm, end)))
    .catch((error: unknown) => host.log.error({ err: error, sandbox_id: sandbox.id }, 'end of VM not recorded'))
}

async function loseVm(host: Host, sandbox: Sandbox, vm: Vm, end: VmEnd): Promise<void> {
  // Code that ends a VM on purpose removes it from its sandbox first.
  if (sandbox.vm !== vm || sandbox.leaving.signal.aborted) return
  // Without waiting in between: a sweep between the two would remove the layers.
  sandbox.lost = { end, layers: vm.disk === null ? [] : [...vm.disk.layers, vm.disk.active] }
  sandbox.vm = null
  await vm.detach()
  await recordLoss(host, sandbox, end)
}

/**
 * Records that a sandbox's VM has ended: a durable sandbox keeps its disk and is hibernated, any other has failed. The
 * reconciliation retries if it could not be recorded, for example on a full disk.
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
    // The event must exist before a client can see the state `failed`.
    await announceOnce()
  } finally {
    sandbox.manifest = { ...sandbox.manifest, status: 'failed', qemu: null }
    releaseVolumes(host.store, sandbox)
  }
  // If the layers of the disk are unknown, the manifest stays as it was, and the next start of the agent tries to find
  // them.
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
