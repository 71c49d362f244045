import { copyFile, rename } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import type { Accelerator, Isolation } from '@offshoot/contract/agent-api'
import type { AgentId, SandboxId } from '@offshoot/contract/ids'
import type { AgentConfig } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import { Archives } from './store/archives/archives.ts'
import { checkpointMachines } from './machine/capture/checkpoint-machines.ts'
import { CaptureThreads } from './machine/capture/capture-threads.ts'
import { Thread } from './machine/capture/thread.ts'
import { Checkpoints } from './store/checkpoints/checkpoints.ts'
import { loadSigningKeys } from './store/checkpoints/signing-key.ts'
import { chooseMachine, KvmUnavailable } from './choose-machine.ts'
import { SpentCredit } from './store/credit/spent-credit.ts'
import { Layers } from './store/disks/layers.ts'
import { EventLog } from './store/events/event-log.ts'
import { SshProbes } from './sandbox/events/ssh-probes.ts'
import { loadAgentId } from './store/events/agent-id.ts'
import type { SlotClaims } from './machine/host/slot-claims.ts'
import type { NameServer } from './machine/network/dns/name-server.ts'
import { type HostPurpose, type KnownGuest, openNetwork } from './machine/slots/open-network.ts'
import { BakingSlot } from './sandbox/start/baking-slot.ts'
import { Cgroups } from './machine/host/cgroups.ts'
import { DataDir } from './store/data-dir/data-dir.ts'
import { type Jail, openJail } from './machine/host/jail.ts'
import { findQemu, type Qemu } from './machine/host/qemu.ts'
import { Ledger } from './store/ledger/ledger.ts'
import { Pool } from './sandbox/pool/pool.ts'
import { makeSpareInTurn, removeSpare } from './sandbox/start/make-spare.ts'
import { Admission } from './sandbox/model/admission.ts'
import { takeUpAllBackground } from './sandbox/commands/background-watch.ts'
import { rebootSandbox } from './sandbox/lifecycle/reboot-sandbox.ts'
import { guestsWithVms } from './sandbox/model/guests-with-vms.ts'
import type { Host } from './sandbox/model/host.ts'
import { recover } from './sandbox/recovery/recover.ts'
import { recoverSnapshots } from './sandbox/recovery/recover-snapshots.ts'
import type { Manifest } from './store/sandboxes/manifest.ts'
import { readManifests } from './store/sandboxes/read-manifests.ts'
import { Semaphore } from '@offshoot/kit/semaphore'
import { wakeSandbox } from './sandbox/lifecycle/wake.ts'
import { UsageWatch } from './sandbox/model/usage-watch.ts'
import { Snapshots } from './store/snapshots/snapshots.ts'
import { BuiltTemplates } from './store/templates/built-templates.ts'
import { findBakes, rebakeStale } from './sandbox/builds/rebake-templates.ts'
import { OnDemandTemplates } from './sandbox/templates/on-demand-templates.ts'
import { Builds } from './sandbox/builds/builds.ts'
import { Bakes, type BakedTemplate } from './machine/bakes/bakes.ts'
import { learnEarlierMachine } from './machine/vm/earlier-machines.ts'
import { Images } from './store/bakes/images.ts'
import { Machines } from './machine/vm/machines.ts'
import { endProbe } from './machine/probe/probe-kvm.ts'
import { withVcpus } from './machine/vm/vcpus.ts'
import { recoverVolumes } from './sandbox/recovery/recover-volumes.ts'
import { Volumes } from './store/volumes/volumes.ts'
import type { Agent } from './sandbox/agent.ts'

/**
 * Restores at the same time; the others wait. One more than there are CPUs, because each waits for the disk now and then:
 * of 2, 3 and 4 at once on two CPUs, 3 made fifty sandboxes soonest.
 */
const RESTORES_AT_ONCE = availableParallelism() + 1
/** Checkpoints written at the same time: one uses the disk, another the CPU. */
const CAPTURES_AT_ONCE = 2
const MAX_WAITING = 512
const START_MS = 30_000

export interface OpenedHost {
  readonly id: AgentId
  readonly host: Host
  readonly images: Images
  /** `null` where the agent is not root. */
  readonly claims: SlotClaims | null
  readonly names: NameServer | null
  /** Of the sandboxes that there are. */
  readonly manifests: ReadonlyMap<SandboxId, Manifest>
}

/** What all three programs of the agent begin with; the data directory's lock is held already. */
export async function openHost(config: AgentConfig, log: Logger, purpose: HostPurpose): Promise<OpenedHost> {
  const dir = await DataDir.open(config.data_dir)
  // A Unix socket's path is short; from here they all fit (store/data-dir/data-dir.ts).
  process.chdir(dir.sandboxes)
  await endProbe(dir.probe)
  const id = await loadAgentId(dir, config.agent_id, log)
  const qemu = await findQemu(Deadline.after(START_MS, 'version of QEMU'))
  const images = new Images(config.images_dir)
  const layers = new Layers(dir, log)
  const ledger = await Ledger.open(dir, log)
  const sealing = new Thread()
  const earlier = await learnEarlierMachine(dir.earlierMachinesFile, dir.acceleratorFile)
  const manifests = await readManifests(dir, ledger.unreadable)
  const opened = await openNetwork({ config, dir, images, guests: knownGuests(manifests.values()), purpose, log })
  const { slots, network, names, reason, claims } = opened
  const sandboxes: Host['sandboxes'] = new Map()
  const host: Host = {
    dir,
    ledger,
    qemu,
    // Who ends all VMs starts none.
    jail: purpose === 'end' ? null : await jailOf(dir, images, qemu, log),
    cgroups: await Cgroups.detect(id),
    machines: new Machines(),
    layers,
    checkpoints: new Checkpoints({
      root: dir.root,
      keys: await loadSigningKeys(dir.checkpointKey, log),
      layers,
      sealFile: (asked, deadline) => sealing.ask('seal', asked, deadline),
      machines: checkpointMachines(qemu, earlier),
    }),
    captureThreads: new CaptureThreads(),
    snapshots: await Snapshots.open(dir.snapshots, ledger),
    archives: new Archives(dir),
    volumes: await Volumes.open(dir.volumes, ledger),
    templates: await BuiltTemplates.open(dir.templates, ledger),
    credit: await SpentCredit.open(dir.spentCreditFile, log),
    events: await EventLog.open(dir.events, id, {
      onLost: (lastSeq) =>
        log.error({ last_seq: lastSeq }, 'event log: records that control has not read were removed'),
      onDamaged: (copy) => log.error({ copy }, 'event log: damaged records were cut off, and a copy was kept'),
      onTrimFailed: (error) => log.error({ err: error }, 'event log: old records not removed'),
    }),
    pool: new Pool({
      memoryMib: config.pool_memory_mib,
      make: (seed, cancelled) => makeSpareInTurn(host, seed, cancelled),
      remove: (spare) => removeSpare(host, spare),
      isBusy: () => host.gates.restores.isBusy,
      isShort: () => host.gates.admission.isShort(),
      log,
    }),
    slots,
    network,
    networkReason: reason,
    boot: { kernel: images.kernel, initramfs: images.initramfs },
    withTap: images.withTap,
    sandboxes,
    usage: new UsageWatch({ dir, layers, network, sandboxes, log }),
    log,
    gates: {
      admission: new Admission({
        commitLimitMib: config.commit_limit_mib,
        guestsMib: () => guestsWithVms(host),
        relieve: () => host.pool.giveUp(),
      }),
      restores: new Semaphore(RESTORES_AT_ONCE, MAX_WAITING),
      captures: new Semaphore(CAPTURES_AT_ONCE, MAX_WAITING),
      hibernations: new Semaphore(CAPTURES_AT_ONCE, MAX_WAITING),
    },
    wake: (sandbox) => wakeSandbox(host, sandbox),
  }
  return { id, host, images, claims, names, manifests }
}

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
  const { dir, qemu } = host
  await copyPreload(images.preload, dir.preload)
  const { usable: found, broken } = await images.templates(config.templates)
  const smallest = found.toSorted((a, b) => a.memory_mb - b.memory_mb)[0]
  if (!smallest) throw new Error(`no usable template in ${config.images_dir}`, { cause: [...broken.values()][0] })
  const choice = { config, host, images, image: smallest, retriesFailure, progress }
  const { accelerator, reason } = await chooseMachine(choice)
  const usable = found.map((image) => withVcpus(image, accelerator))
  const slot = new BakingSlot(host, Math.max(...usable.map(({ memory_mb }) => memory_mb)))
  const bakes = new Bakes({
    folder: dir.bakes,
    images,
    qemu,
    slot: () => slot.open(),
    machineOf: host.machines.of,
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
    ...host.snapshots.all.map(({ bake }) => bake),
  ]
  const current = [...templates].map(([name, { manifest }]) => `${name}/${manifest.fingerprint}`)
  const built = await findBakes(host, images)
  // A record that cannot be read may name any bake.
  if (host.ledger.isComplete('sandbox', 'snapshot', 'template'))
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
  await host.templates.settleUnrecorded()
  host.slots.supplySoon()
  host.captureThreads.start()
  void takeUpAllBackground([...host.sandboxes.values()], log)
  const { accelerator, reason, templates, onDemand, broken } = await prepareOrExplain(config, host, images)
  host.pool.start()
  for (const sandbox of host.sandboxes.values()) if (sandbox.manifest.cold) rebootSandbox(host, sandbox)
  const smallest = [...templates.values()].toSorted((a, b) => a.image.memory_mb - b.image.memory_mb)[0] ?? null
  const builds = new Builds({ host, images, worker: () => smallest, stopping })
  await builds.recover()
  void rebakeStale(host, images, stopping)
  const sshProbes = new SshProbes(host, stopping)
  for (const sandbox of host.sandboxes.values()) sshProbes.watch(sandbox)
  return {
    id,
    version: '0.1.0',
    accelerator,
    acceleratorReason: reason,
    isolation: isolationOf(host),
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

/** `null` where this host does not let the agent make namespaces; its VMs have a user and a filter of their own then. */
async function jailOf(dir: DataDir, images: Images, qemu: Qemu, log: Logger): Promise<Jail | null> {
  if (process.getuid?.() !== 0) return null
  try {
    const parts = { qemu, launcher: images.jail, preload: images.preload }
    return await openJail(dir.qemu, parts, Deadline.after(START_MS, 'trial of a jail'))
  } catch (error) {
    log.error(
      { err: error },
      'VMs run without a jail: who breaks out of one sees the files and the network of this host',
    )
    return null
  }
}

function isolationOf({ cgroups, jail }: Host): Isolation {
  if (process.getuid?.() !== 0) return 'process'
  if (jail !== null) return cgroups === null ? 'jail-nolimits' : 'jail'
  return cgroups === null ? 'user-nolimits' : 'user'
}

function knownGuests(manifests: Iterable<Manifest>): KnownGuest[] {
  return Array.from(manifests, ({ slot: last, home_slot: home = last, egress, status, guest_ip: ip }) => {
    const isHibernated = status === 'hibernated'
    const canRun = isHibernated || status === 'running' || status === 'paused'
    return { slot: isHibernated ? home : last, isHibernated, egress, ip: canRun ? ip : null }
  })
}

/** Renamed into place: a QEMU that is just starting reads the old file or the new. */
async function copyPreload(from: string, to: string): Promise<void> {
  await copyFile(from, `${to}.new`)
  await rename(`${to}.new`, to)
}
