import type { Vm } from '../vm/vm.ts'
import { comeBack } from './come-back.ts'
import { announce, type Host } from './host.ts'
import { keepDisk } from './keep-disk.ts'
import { writeManifest } from './manifest.ts'
import type { Sandbox } from './sandbox.ts'
import { releaseVolumes } from './sandbox-volumes.ts'
import { sweepLayersSoon } from './sweep-layers.ts'

/** Counts what a sandbox's VM uses, and makes the sandbox `failed` when the VM ends without having been told to. */
export function watchVm(host: Host, sandbox: Sandbox, vm: Vm): void {
  host.usage.attach(sandbox, vm)
  void vm.ended
    .then((end) => sandbox.transitions.runNext(() => fail(host, sandbox, vm, end.exitCode, end.signal)))
    .catch((error: unknown) => host.log.error({ err: error, sandbox_id: sandbox.id }, 'end of VM not recorded'))
}

async function fail(
  host: Host,
  sandbox: Sandbox,
  vm: Vm,
  exitCode: number | null,
  signal: string | null,
): Promise<void> {
  // What ends a VM on purpose has taken it away from its sandbox before.
  if (sandbox.vm !== vm || sandbox.leaving.signal.aborted) return
  sandbox.vm = null
  await vm.detach()
  const wasRunning = sandbox.manifest.status === 'running'
  if (await keepDisk(host, sandbox, () => announceDeath(host, sandbox, exitCode, signal))) {
    if (wasRunning) comeBack(host, sandbox)
    return
  }
  sandbox.manifest = { ...sandbox.manifest, status: 'failed', qemu: null }
  releaseVolumes(host, sandbox)
  await announceDeath(host, sandbox, exitCode, signal)
  await writeManifest(host.dir.sandbox(sandbox.id), sandbox.manifest)
  await host.cgroups?.remove(sandbox.manifest.slot)
  sweepLayersSoon(host)
}

export async function announceDeath(
  host: Host,
  sandbox: Sandbox,
  exitCode: number | null,
  signal: string | null,
): Promise<void> {
  const how = signal === null ? `exit code ${exitCode ?? 'unknown'}` : `signal ${signal}`
  await announce(host, sandbox, {
    type: 'vm.died',
    message: `VM process ended unexpectedly (${how})`,
    metadata: { exit_code: exitCode, ...(signal === null ? {} : { signal }) },
  })
}
