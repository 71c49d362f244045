import { rm } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { continueReleased } from '../../machine/guest/hold.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { hibernatedDraft } from '../events/announce-state.ts'
import { captureSandbox, checkpointOrigin } from '../model/capture-options.ts'
import { commitChange } from '../model/commit-change.ts'
import type { Host } from '../model/host.ts'
import { writeRunningManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { NO_SLOT } from '../../machine/slots/slots.ts'
import { syncVolumes } from '../volumes/sandbox-volumes.ts'
import { vmIn, whileStopping } from '../model/stopping.ts'

/** Milliseconds to write a checkpoint: gigabytes to a slow disk. */
const CAPTURE_MS = 300_000
const CONTINUE_MS = 10_000
const KILL_MS = 10_000

/**
 * Puts a sandbox's memory to disk and ends its VM. Foreground commands end, what else runs in it goes on when it wakes.
 * Nothing happens to one that is hibernated.
 * @param isWanted asked once nothing more can be asked of the guest; `false` leaves the sandbox as it is
 * @throws ApiError 404, 409 paused, 507 no room on the disk: then it runs on
 */
export async function hibernateSandbox(host: Host, sandbox: Sandbox, isWanted = () => true): Promise<void> {
  await sandbox.change(async (cancelled) => {
    if (sandbox.manifest.status === 'hibernated') return
    const vm = vmIn(sandbox, 'running')
    try {
      await host.gates.hibernations.run(async () => {
        if (isWanted()) await whileStopping(sandbox, () => hibernate(host, sandbox, vm, cancelled))
      }, cancelled)
    } catch (error) {
      throw await refusal(host, sandbox, 'sandbox could not be hibernated', error)
    }
  })
}

async function hibernate(host: Host, sandbox: Sandbox, vm: Vm, cancelled: AbortSignal): Promise<void> {
  const startedAt = performance.now()
  const { slot } = sandbox.manifest
  const deadline = Deadline.after(CAPTURE_MS, `hibernation of ${sandbox.id}`, cancelled)
  const folder = host.dir.hibernation(sandbox.id)
  await rm(folder, { recursive: true, force: true })
  await syncVolumes(host, sandbox, vm)
  const captured = await captureSandbox(host, sandbox, vm, { folder, leave: 'stopped' }, deadline)
  try {
    await host.checkpoints.seal(captured, checkpointOrigin(sandbox), host.machines.of(sandbox.manifest), deadline)
    const snapMs = Math.round(performance.now() - startedAt)
    const memMib = Math.ceil(captured.memoryBytes / 1024 / 1024)
    const manifest: Manifest = {
      ...sandbox.manifest,
      status: 'hibernated',
      cold: false,
      layers: [...captured.layers],
      slot: NO_SLOT,
      home_slot: slot,
      qemu: null,
    }
    await commitChange(host, sandbox, manifest, hibernatedDraft({ snapMs, memMib }))
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    // On a full disk this may be what made the room to take it back.
    await writeRunningManifest(host.dir.sandbox(sandbox.id), sandbox.manifest).catch(() => undefined)
    await continueReleased(vm, Deadline.after(CONTINUE_MS, `hibernation of ${sandbox.id} taken back`, cancelled))
    throw error
  }
  await host.usage.settle(sandbox)
  sandbox.vm = null
  vm.refuse()
  await vm.kill(Deadline.after(KILL_MS, `end of ${sandbox.id}`))
  await host.cgroups?.remove(slot)
  host.slots.park(slot, sandbox.id)
}
