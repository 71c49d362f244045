import { pino } from 'pino'
import { copyPreload, isolationOf, smallestOf } from './agent.ts'
import { chooseMachine, tryGuest } from './choose-machine.ts'
import { takeDataDir } from './take-data-dir.ts'
import { restoreForwarding } from './machine/network/uplinks.ts'
import { openHost } from './open-host.ts'

/**
 * Tries the whole life of a guest on this host, in a data directory that only this process uses, and prints the result as
 * a line of JSON (`packages/up/src/doctor/guest.ts`). Ends its VMs and releases what it took of the host. The caller
 * removes the data directory.
 */
try {
  const startedAt = performance.now()
  const config = await takeDataDir()
  const { host, images, claims } = await openHost(config, pino({ level: 'silent' }), 'prepare')
  try {
    await copyPreload(images.preload, host.store.dir.preload)
    const { usable, broken } = await images.templates(config.templates)
    const image = smallestOf(config, usable, broken)
    const choice = { config, host, images, image, retriesFailure: true, progress: () => undefined }
    const { accelerator, reason } = await chooseMachine(choice)
    // Under KVM the choice was such a trial.
    const result = accelerator === 'kvm' ? null : await tryGuest(choice)
    const failure = result === null || result.works ? null : { step: result.step, reason: result.reason }
    const { network, networkReason, cgroups } = host.platform
    console.log(
      JSON.stringify({
        accelerator,
        reason,
        failure,
        isolation: isolationOf(host.platform),
        network_reason: network === null ? networkReason : null,
        cpu_limits: cgroups?.cpuLimits ?? 'none',
        seconds: (performance.now() - startedAt) / 1000,
      }),
    )
  } finally {
    await claims?.release(() => restoreForwarding(config.run_dir))
    await host.store.events.close()
  }
  process.exit(0)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
