import { copyFile, rename } from 'node:fs/promises'
import type { Accelerator, Isolation } from '@offshoot/contract/agent-api'
import type { AgentConfig } from '@offshoot/contract/process-config'
import type { TemplateImage } from '@offshoot/contract/template-image'
import type { Logger } from 'pino'
import { chooseMachine, KvmUnavailable } from './choose-machine.ts'
import { SshProbes } from './sandbox/events/ssh-probes.ts'
import { BakingSlot } from './sandbox/start/baking-slot.ts'
import { adoptAllBackground } from './sandbox/commands/background-watch.ts'
import { bootColdSandboxes } from './sandbox/lifecycle/lease-watch.ts'
import type { Host, HostPlatform } from './sandbox/model/host.ts'
import { sweepQemuVersions } from './sandbox/cleanup/sweep-qemu-versions.ts'
import { recover } from './sandbox/recovery/recover.ts'
import { recoverSnapshots } from './sandbox/recovery/recover-snapshots.ts'
import { findBakes, rebakeStale } from './sandbox/builds/rebake-templates.ts'
import { seedOfTemplate } from './sandbox/pool/seed.ts'
import { OnDemandTemplates } from './sandbox/templates/on-demand-templates.ts'
import { Builds } from './sandbox/builds/builds.ts'
import { Bakes, type BakedTemplate } from './machine/bakes/bakes.ts'
import { Images } from './store/bakes/images.ts'
import { withVcpus } from './machine/vm/vcpus.ts'
import { recoverVolumes } from './sandbox/recovery/recover-volumes.ts'
import type { Agent } from './sandbox/agent.ts'
import { openHost } from './open-host.ts'

export interface PreparePlace {
  readonly host: Host
  readonly images: Images
  /** See `Choice.retriesFailure`. */
  readonly retriesFailure: boolean
}

export interface Prepared {
  readonly accelerator: Accelerator
  /** Why not KVM; `null` under KVM. */
  readonly reason: string | null
  readonly templates: ReadonlyMap<string, BakedTemplate>
  readonly onDemand: OnDemandTemplates | null
  readonly broken: ReadonlyMap<string, unknown>
}

/**
 * Probes the accelerator and bakes what is missing or stale. `progress` hears what takes long.
 * A template that cannot be baked does not keep the others away.
 */
export async function prepareTemplates(
  config: AgentConfig,
  { host, images, retriesFailure }: PreparePlace,
  progress: (what: string) => void,
): Promise<Prepared> {
  const { dir } = host.store
  const { qemus } = host.platform
  await copyPreload(images.preload, dir.preload)
  const { usable: found, broken } = await images.templates(config.templates)
  const image = smallestOf(config, found, broken)
  const choice = { config, host, images, image, retriesFailure, progress }
  const { accelerator, reason } = await chooseMachine(choice)
  const usable = found.map((image) => withVcpus(image, accelerator))
  const slot = new BakingSlot(host, Math.max(...usable.map(({ memory_mb }) => memory_mb)))
  const bakes = new Bakes({
    folder: dir.bakes,
    images,
    qemu: qemus.current,
    slot: () => slot.open(),
    machineOf: host.platform.machines.of,
    patience: config.kvm.patience,
  })
  const templates = new Map<string, BakedTemplate>()
  for (const image of usable) {
    try {
      const { baked } = await bakes.find(image)
      if (!baked && image.on_demand === true) continue
      if (!baked) progress(`baking template ${image.name} (${accelerator})`)
      templates.set(image.name, baked ?? (await bakes.ensure(image)))
    } catch (error) {
      broken.set(image.name, error)
    }
  }
  await slot.release()
  const used = [
    ...[...host.sandboxes.values()].map(({ manifest }) => manifest.bake),
    ...host.store.snapshots.all.map(({ bake }) => bake),
  ]
  const current = [...templates].map(([name, { manifest }]) => `${name}/${manifest.fingerprint}`)
  const built = await findBakes(host, images)
  // A record that cannot be read may name any bake.
  if (host.store.ledger.isComplete('sandbox', 'snapshot', 'template'))
    await bakes.removeAllBut(new Set([...used, ...current, ...built]))
  const onDemand = new OnDemandTemplates({
    images: usable.filter((image) => image.on_demand === true),
    admission: host.gates.admission,
    templates,
    bake: async (image) => {
      try {
        return await bakes.ensure(image)
      } finally {
        await slot.release()
      }
    },
  })
  return { accelerator, reason, templates, onDemand, broken }
}

export async function startAgent(config: AgentConfig, log: Logger, stopping: AbortSignal): Promise<Agent> {
  const { id, host, images, names, manifests } = await openHost(config, log, 'serve')
  await recover(host, 'adopt', manifests)
  await recoverSnapshots(host)
  await recoverVolumes(host)
  await host.store.templates.settleUnrecorded()
  host.platform.slots.supplySoon()
  host.platform.captureThreads.start()
  void adoptAllBackground([...host.sandboxes.values()], log)
  const { accelerator, reason, templates, onDemand, broken } = await prepareOrExplain(config, host, images)
  host.pool.start([...templates.values()].map(seedOfTemplate))
  if (host.store.lease.isHeld) bootColdSandboxes(host)
  const smallest = [...templates.values()].toSorted((a, b) => a.image.memory_mb - b.image.memory_mb)[0] ?? null
  const builds = new Builds({ host, images, worker: () => smallest, stopping })
  await builds.recover()
  void rebakeStale(host, images, stopping)
  void sweepQemuVersions(host).catch((error: unknown) =>
    log.error({ err: error }, 'earlier versions of QEMU not removed'),
  )
  const sshProbes = new SshProbes(host, stopping)
  for (const sandbox of host.sandboxes.values()) sshProbes.watch(sandbox)
  return {
    id,
    version: '0.1.0',
    accelerator,
    acceleratorReason: reason,
    isolation: isolationOf(host.platform),
    images,
    templates,
    onDemand,
    broken,
    host,
    builds,
    names,
    sshProbes,
    maxUploadBytes: config.max_upload_bytes,
    stopping,
  }
}

/** An agent without templates still serves the sandboxes it has. */
async function prepareOrExplain(config: AgentConfig, host: Host, images: Images): Promise<Prepared> {
  const { log } = host
  try {
    const place = { host, images, retriesFailure: false }
    const prepared = await prepareTemplates(config, place, (what) => log.info(what))
    for (const [template, error] of prepared.broken) log.error({ err: error, template }, 'template cannot be used')
    return prepared
  } catch (error) {
    if (error instanceof KvmUnavailable) throw error
    log.error({ err: error }, 'no template can be used')
    const broken = new Map((config.templates ?? []).map((name) => [name, error] as const))
    return { accelerator: 'tcg', reason: 'no template can be used', templates: new Map(), onDemand: null, broken }
  }
}

/** The template with the least memory, for trials. @throws Error when none is usable, with the cause of the first */
export function smallestOf(
  config: AgentConfig,
  usable: readonly TemplateImage[],
  broken: ReadonlyMap<string, unknown>,
): TemplateImage {
  const [smallest] = usable.toSorted((a, b) => a.memory_mb - b.memory_mb)
  if (smallest !== undefined) return smallest
  throw new Error(`no usable template in ${config.images_dir}`, { cause: [...broken.values()][0] })
}

export function isolationOf({ cgroups, qemus }: HostPlatform): Isolation {
  if (process.getuid?.() !== 0) return 'process'
  if (qemus.current.jail !== null) return cgroups === null ? 'jail-nolimits' : 'jail'
  return cgroups === null ? 'user-nolimits' : 'user'
}

/** Renamed into place: a QEMU that is just starting reads the old file or the new. */
export async function copyPreload(from: string, to: string): Promise<void> {
  await copyFile(from, `${to}.new`)
  await rename(`${to}.new`, to)
}
