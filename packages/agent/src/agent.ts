import { copyFile, rename } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import type { Accelerator, Isolation } from '@offshoot/contract/agent-api'
import type { AgentId, SandboxId } from '@offshoot/contract/ids'
import type { AgentConfig } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import { Archives } from './archives/archives.ts'
import { Checkpoints } from './checkpoints/checkpoints.ts'
import { loadSigningKey } from './checkpoints/signing-key.ts'
import { SpentCredit } from './credit/spent-credit.ts'
import { Layers } from './disks/layers.ts'
import { EventLog } from './events/event-log.ts'
import { SshProbes } from './events/ssh-probes.ts'
import { chooseAccelerator } from './host/accelerator.ts'
import { loadAgentId } from './host/agent-id.ts'
import type { SlotClaims } from './host/slot-claims.ts'
import type { NameServer } from './net/dns/name-server.ts'
import { type HostPurpose, openNetwork } from './net/open-network.ts'
import { BakingSlot } from './sandboxes/baking-slot.ts'
import { Cgroups } from './host/cgroups.ts'
import { DataDir } from './host/data-dir.ts'
import { findQemu } from './host/qemu.ts'
import { Pool } from './pool/pool.ts'
import { makeSpareInTurn, removeSpare } from './pool/make-spare.ts'
import { Admission } from './sandboxes/admission.ts'
import { takeUpAllBackground } from './sandboxes/background-watch.ts'
import { comeBack } from './sandboxes/come-back.ts'
import { guestsWithVms } from './sandboxes/guests-with-vms.ts'
import type { Host } from './sandboxes/host.ts'
import type { Manifest } from './sandboxes/manifest.ts'
import { recover } from './sandboxes/recover.ts'
import { recoverSnapshots } from './sandboxes/recover-snapshots.ts'
import { readManifests } from './sandboxes/read-manifests.ts'
import { Turns } from './sandboxes/turns.ts'
import { wakeSandbox } from './sandboxes/wake.ts'
import { Snapshots } from './snapshots/snapshots.ts'
import { BuiltTemplates } from './templates/built-templates.ts'
import { findBakes, rebakeStale } from './templates/bakes-of-built.ts'
import { LaterTemplates } from './templates/later-templates.ts'
import { Builds } from './builds/builds.ts'
import { Bakes, type BakedTemplate } from './vm/bakes.ts'
import { learnEarlierMachine } from './vm/earlier-machines.ts'
import { Images } from './vm/images.ts'
import { Machines } from './vm/machines.ts'
import { bootsUnderKvm } from './vm/probe.ts'
import { withVcpus } from './vm/vcpus.ts'
import { recoverVolumes } from './volumes/recover-volumes.ts'
import { Volumes } from './volumes/volumes.ts'

/**
 * Restores at the same time; the others wait. One more than there are CPUs, because each waits for the disk now and then:
 * of 2, 3 and 4 at once on two CPUs, 3 made fifty sandboxes soonest.
 */
const RESTORES_AT_ONCE = availableParallelism() + 1
/** Checkpoints written at the same time: one uses the disk, another the CPU. */
const CAPTURES_AT_ONCE = 2
const MAX_WAITING = 512
const START_MS = 30_000

/** One agent, ready to serve: the wiring of the process. */
export interface Agent {
  readonly id: AgentId
  readonly version: string
  readonly accelerator: Accelerator
  readonly isolation: Isolation
  readonly images: Images
  readonly templates: ReadonlyMap<string, BakedTemplate>
  readonly later: LaterTemplates | null
  /** Templates that should be here and cannot be used, with the reason. */
  readonly broken: ReadonlyMap<string, unknown>
  readonly host: Host
  readonly builds: Builds
  /** Answers guests' questions for names; `null` where they have no network. */
  readonly names: NameServer | null
  readonly sshProbes: SshProbes
  /** Bytes of one upload into a sandbox. */
  readonly maxUploadBytes: number
  /** Aborts when the agent is to end: streams end, commands are stopped, nothing new starts. */
  readonly stopping: AbortSignal
}

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
  // A Unix socket's path is short; from here they all fit (host/data-dir.ts).
  process.chdir(dir.sandboxes)
  const id = await loadAgentId(dir.agentFile, config.agent_id)
  const qemu = await findQemu(Deadline.after(START_MS, 'version of QEMU'))
  const images = new Images(config.images_dir)
  const layers = new Layers(dir.layers)
  const manifests = await readManifests(dir)
  const opened = await openNetwork({ config, dir, images, manifests: [...manifests.values()], purpose, log })
  const { slots, network, names, reason, claims } = opened
  const host: Host = {
    dir,
    qemu,
    cgroups: await Cgroups.detect(id),
    machines: new Machines(),
    layers,
    checkpoints: new Checkpoints({
      root: dir.root,
      key: await loadSigningKey(dir.checkpointKey),
      layers,
      qemu,
      earlier: await learnEarlierMachine(dir.earlierMachinesFile, dir.acceleratorFile),
    }),
    snapshots: await Snapshots.open(dir.snapshots),
    archives: new Archives(dir),
    volumes: await Volumes.open(dir.volumes),
    templates: await BuiltTemplates.open(dir.templates),
    credit: await SpentCredit.open(dir.spentCreditFile),
    events: await EventLog.open(dir.events, id),
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
    sandboxes: new Map(),
    log,
    gates: {
      admission: new Admission({
        commitLimitMib: config.commit_limit_mib,
        guestsMib: () => guestsWithVms(host),
        relieve: () => host.pool.giveUp(),
      }),
      restores: new Turns(RESTORES_AT_ONCE, MAX_WAITING),
      captures: new Turns(CAPTURES_AT_ONCE, MAX_WAITING),
      hibernations: new Turns(CAPTURES_AT_ONCE, MAX_WAITING),
    },
    wake: (sandbox) => wakeSandbox(host, sandbox),
  }
  return { id, host, images, claims, names, manifests }
}

export interface Prepared {
  readonly accelerator: Accelerator
  readonly templates: ReadonlyMap<string, BakedTemplate>
  readonly later: LaterTemplates | null
  readonly broken: ReadonlyMap<string, unknown>
}

/**
 * Probes the accelerator and bakes what is missing or stale. `progress` hears what takes long.
 * A template that cannot be baked does not keep the others away.
 */
export async function prepareTemplates(
  config: AgentConfig,
  { host, images }: { readonly host: Host; readonly images: Images },
  progress: (what: string) => void,
): Promise<Prepared> {
  const { dir, qemu } = host
  await copyPreload(images.preload, dir.preload)
  const { usable: found, broken } = await images.templates(config.templates)
  const smallest = found.toSorted((a, b) => a.memory_mb - b.memory_mb)[0]
  if (!smallest) throw new Error(`no usable template in ${config.images_dir}`, { cause: [...broken.values()][0] })
  const tried = `${qemu.version} ${qemu.build} ${await images.bootHash()}`
  const { accelerator, tscKhz } = await chooseAccelerator(dir.acceleratorFile, tried, () => {
    progress('trying whether a guest boots under KVM')
    return bootsUnderKvm(qemu.path, images, smallest.name)
  })
  host.machines.choose(accelerator, tscKhz, host.network === null ? 'user' : 'tap')
  const usable = found.map((image) => withVcpus(image, accelerator))
  const slot = new BakingSlot(host, Math.max(...usable.map(({ memory_mb }) => memory_mb)))
  const bakes = new Bakes({
    folder: dir.bakes,
    images,
    qemu,
    slot: () => slot.open(),
    machineOf: host.machines.of,
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
  await bakes.removeAllBut(new Set([...used, ...current, ...built]))
  const later = new LaterTemplates({
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
  return { accelerator, templates, later, broken }
}

export async function startAgent(config: AgentConfig, log: Logger, stopping: AbortSignal): Promise<Agent> {
  const { id, host, images, names, manifests } = await openHost(config, log, 'serve')
  await recover(host, 'adopt', manifests)
  await recoverSnapshots(host)
  await recoverVolumes(host)
  await host.templates.removeUnfinished()
  host.slots.supplySoon()
  host.checkpoints.start()
  void takeUpAllBackground([...host.sandboxes.values()], log)
  const { accelerator, templates, later, broken } = await prepareOrExplain(config, { host, images })
  host.pool.start()
  for (const sandbox of host.sandboxes.values()) if (sandbox.manifest.cold) comeBack(host, sandbox)
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
    isolation: isolationOf(host),
    images,
    templates,
    later,
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
async function prepareOrExplain(config: AgentConfig, place: { host: Host; images: Images }): Promise<Prepared> {
  const { log } = place.host
  try {
    const prepared = await prepareTemplates(config, place, (what) => log.info(what))
    for (const [template, error] of prepared.broken) log.error({ err: error, template }, 'template cannot be used')
    return prepared
  } catch (error) {
    log.error({ err: error }, 'no template can be used')
    const broken = new Map((config.templates ?? []).map((name) => [name, error] as const))
    return { accelerator: 'tcg', templates: new Map(), later: null, broken }
  }
}

function isolationOf({ cgroups }: Host): Isolation {
  if (process.getuid?.() !== 0) return 'process'
  return cgroups === null ? 'user-nolimits' : 'user'
}

/** Renamed into place: a QEMU that is just starting reads the old file or the new. */
async function copyPreload(from: string, to: string): Promise<void> {
  await copyFile(from, `${to}.new`)
  await rename(`${to}.new`, to)
}
