import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { AgentId, SandboxId } from '@offshoot/contract/ids'
import type { AgentConfig } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import { Archives } from './store/archives/archives.ts'
import { checkpointMachines } from './machine/capture/checkpoint-machines.ts'
import { CaptureThreads } from './machine/capture/capture-threads.ts'
import { durableSeal } from './machine/capture/durable-seal.ts'
import { Thread } from './machine/capture/thread.ts'
import { Checkpoints } from './store/checkpoints/checkpoints.ts'
import { VerifiedFiles } from './store/checkpoints/verified-files.ts'
import { namedLayers } from './store/checkpoints/named-layers.ts'
import { loadSigningKeys } from './store/checkpoints/signing-key.ts'
import { SpentCredit } from './store/credit/spent-credit.ts'
import { openObjects } from './store/objects/object-copies.ts'
import { Layers } from './store/disks/layers.ts'
import { EventLog } from './store/events/event-log.ts'
import { HostLease } from './store/lease/host-lease.ts'
import { ObeyedCluster } from './store/events/obeyed-cluster.ts'
import { loadAgentId } from './store/events/agent-id.ts'
import type { SlotClaims } from './machine/host/slot-claims.ts'
import type { NameServer } from './machine/network/dns/name-server.ts'
import { type HostPurpose, type KnownGuest, openNetwork } from './machine/slots/open-network.ts'
import { dataRanges } from './machine/disks/data-ranges.ts'
import { Cgroups } from './machine/host/cgroups.ts'
import { DataDir } from './store/data-dir/data-dir.ts'
import { DiskRoom } from './store/data-dir/disk-room.ts'
import { openJail } from './machine/host/jail.ts'
import { findQemu, findQemuOfImages, type Qemu } from './machine/host/qemu.ts'
import { readHostBootId } from './machine/host/boot-id.ts'
import { type CurrentQemu, type HostQemu, QemuVersions } from './machine/host/qemu-versions.ts'
import { BakeContents } from './store/bakes/bake-content.ts'
import { Arrivals } from './sandbox/model/arrivals.ts'
import { GivenUpAttempts } from './sandbox/model/given-up-attempts.ts'
import { Ledger } from './store/ledger/ledger.ts'
import { Pool } from './sandbox/pool/pool.ts'
import { Zygotes } from './sandbox/pool/zygotes.ts'
import { makeSpareInTurn, makeZygoteInTurn, mayHaveZygote, removeSpare } from './sandbox/start/make-spare.ts'
import { Admission } from './sandbox/model/admission.ts'
import { guestsWithVms } from './sandbox/model/guests-with-vms.ts'
import type { Host, HostPlatform, HostStore } from './sandbox/model/host.ts'
import type { Manifest } from './store/sandboxes/manifest.ts'
import { readManifests } from './store/sandboxes/read-manifests.ts'
import { Semaphore } from '@offshoot/kit/semaphore'
import { wakeSandbox } from './sandbox/lifecycle/wake.ts'
import { UsageWatch } from './sandbox/model/usage-watch.ts'
import { Snapshots } from './store/snapshots/snapshots.ts'
import { BuiltTemplates } from './store/templates/built-templates.ts'
import { learnEarlierMachine } from './machine/vm/earlier-machines.ts'
import { Images } from './store/bakes/images.ts'
import { Machines } from './machine/vm/machines.ts'
import { endProbe } from './machine/probe/probe-kvm.ts'
import { Volumes } from './store/volumes/volumes.ts'

/**
 * Restores at the same time; the others wait. One more than there are CPUs, because each waits for the disk now and then:
 * of 2, 3 and 4 at once on two CPUs, 3 made fifty sandboxes soonest.
 */
const RESTORES_AT_ONCE = availableParallelism() + 1
/** Checkpoints written at the same time: one uses the disk, another the CPU. */
const CAPTURES_AT_ONCE = 2
const MAX_WAITING = 512
const START_MS = 30_000
/** Milliseconds for the hash of one file, of any size. */
const HASH_MS = 3_600_000

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
  const images = new Images(config.images_dir)
  const layers = new Layers(dir, log)
  const files = new VerifiedFiles(durableSeal(new Thread(), images.writeOut))
  const ledger = await Ledger.open(dir, log, { findLayers: namedLayers, removeTree: (path) => files.removeTree(path) })
  // Bakes have gigabytes: a hibernation must not wait for them.
  const sealBake = durableSeal(new Thread(), images.writeOut)
  const earlier = await learnEarlierMachine(dir.earlierMachinesFile, dir.acceleratorFile)
  const manifests = await readManifests(dir, ledger.unreadable)
  const opened = await openNetwork({ config, dir, images, guests: knownGuests(manifests.values()), purpose, log })
  const { slots, network, names, reason, claims } = opened
  const sandboxes: Host['sandboxes'] = new Map()
  const qemuPlace = { folder: dir.qemu, ...(await openQemu(dir, images, purpose, log)), preload: images.preload }
  const qemus = await QemuVersions.open(qemuPlace, log, Deadline.after(START_MS, 'trial of earlier versions of QEMU'))
  const store: HostStore = {
    dir,
    room: new DiskRoom(dir.root, config.disk, log),
    ledger,
    layers,
    bakeContents: new BakeContents(dir.bakes, async (path) => {
      const asked = { path, isDurable: true, isSparse: true, ranges: await dataRanges(path) }
      return sealBake(asked, Deadline.after(HASH_MS, `hash of ${path}`))
    }),
    checkpoints: new Checkpoints({
      root: dir.root,
      keys: await loadSigningKeys(dir.checkpointKey, log),
      layers,
      files,
      machines: checkpointMachines(() => qemus.all, earlier),
    }),
    snapshots: await Snapshots.open(dir.snapshots, ledger),
    archives: new Archives(dir),
    objects: await openObjects(config, dir),
    volumes: await Volumes.open(dir.volumes, ledger),
    templates: await BuiltTemplates.open(dir.templates, ledger),
    credit: await SpentCredit.open(dir.spentCreditFile, log),
    cluster: await ObeyedCluster.open(dir.clusterFile, log),
    lease: await HostLease.open({
      recordPath: dir.leaseFile,
      endFile: config.leases ? join(config.run_dir, `${id}.lease`) : null,
      canStop: qemus.current.jail !== null,
      bootId: await readHostBootId(),
      log,
    }),
    events: await EventLog.open(dir.events, id, {
      onLost: (lastSeq) =>
        log.error({ last_seq: lastSeq }, 'event log: records that control has not read were removed'),
      onDamaged: (path, error) =>
        log.error({ err: error, path }, 'event log: records could not be read; the file with them is kept'),
      onTrimFailed: (error) => log.error({ err: error }, 'event log: old records not removed'),
    }),
  }
  const platform: HostPlatform = {
    qemus,
    machines: new Machines(),
    captureThreads: new CaptureThreads(),
    boot: { kernel: images.kernel, initramfs: images.initramfs },
    slots,
    cgroups: await Cgroups.detect(id),
    network,
    networkReason: reason,
    withTap: images.withTap,
  }
  const zygotes = new Zygotes({
    isWanted: (seed) => config.zygotes && mayHaveZygote(platform, seed),
    make: (seed, cancelled) => makeZygoteInTurn(host, seed, cancelled),
    remove: ({ slot, folder, zygote }) => removeSpare(platform, { slot, folder, vm: zygote.vm }),
    log,
  })
  const host: Host = {
    store,
    platform,
    sandboxes,
    arrivals: new Arrivals(),
    givenUpAttempts: new GivenUpAttempts(),
    zygotes,
    pool: new Pool({
      memoryMib: config.pool_memory_mib,
      zygotes,
      make: (seed, cancelled) => makeSpareInTurn(host, seed, cancelled),
      remove: (spare) => removeSpare(platform, spare),
      isBusy: () => host.gates.restores.isBusy,
      isShort: () => host.gates.admission.isShort(),
      log,
    }),
    gates: {
      admission: new Admission({
        commitLimitMib: config.commit_limit_mib,
        guestsMib: () => guestsWithVms(host),
        relieve: () => host.pool.evictOne(),
      }),
      restores: new Semaphore(RESTORES_AT_ONCE, MAX_WAITING),
      captures: new Semaphore(CAPTURES_AT_ONCE, MAX_WAITING),
      hibernations: new Semaphore(CAPTURES_AT_ONCE, MAX_WAITING),
    },
    usage: new UsageWatch({ dir, layers, network, cgroups: platform.cgroups, sandboxes, log }),
    log,
    wake: (sandbox) => wakeSandbox(host, sandbox),
  }
  return { id, host, images, claims, names, manifests }
}

/** The jail is `null` where this host has none; its VMs have a user and a filter of their own then. */
async function openQemu(
  dir: DataDir,
  images: Images,
  purpose: HostPurpose,
  log: Logger,
): Promise<{ readonly current: CurrentQemu; readonly hosts: HostQemu }> {
  const deadline = Deadline.after(START_MS, 'trial of QEMU in a jail')
  const qemu = await findQemu(deadline)
  const only = (current: CurrentQemu) => ({ current, hosts: { qemu, open: () => Promise.resolve(current) } })
  // A process that ends all VMs starts none, so it needs no jail.
  if (process.getuid?.() !== 0 || purpose === 'end') return only({ ...qemu, jail: null })
  const inJail = async (each: Qemu): Promise<CurrentQemu> => {
    const parts = { qemu: each, launcher: images.jail, preload: images.preload }
    return { ...each, jail: await openJail(dir.qemu, parts, Deadline.after(START_MS, 'trial of a jail')) }
  }
  try {
    const ofImages = await findQemuOfImages(images.qemu, deadline)
    if (ofImages !== null) return { current: await inJail(ofImages), hosts: { qemu, open: () => inJail(qemu) } }
  } catch (error) {
    log.error({ err: error }, "VMs run with the host's own QEMU: the one of the images does not start in a jail")
  }
  try {
    return only(await inJail(qemu))
  } catch (error) {
    log.error(
      { err: error },
      'VMs run without a jail: an attacker who breaks out of one sees the files and the network of this host',
    )
    return only({ ...qemu, jail: null })
  }
}

function knownGuests(manifests: Iterable<Manifest>): KnownGuest[] {
  return Array.from(manifests, ({ slot: last, home_slot: home = last, egress, limits, status, guest_ip: ip }) => {
    const isHibernated = status === 'hibernated'
    const canRun = isHibernated || status === 'running' || status === 'paused'
    return {
      slot: isHibernated ? home : last,
      isHibernated,
      egress,
      mbit: limits?.network_mbit ?? null,
      ip: canRun ? ip : null,
    }
  })
}
