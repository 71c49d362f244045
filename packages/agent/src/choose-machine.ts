import type { Accelerator } from '@offshoot/contract/agent-api'
import type { AgentConfig } from '@offshoot/contract/process-config'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { chooseAccelerator, type KvmResult } from './machine/host/accelerator.ts'
import { findKvmDevice } from './machine/host/kvm-device.ts'
import { translatesByAddress } from './machine/host/qemu.ts'
import { measureTscKhz } from './machine/host/tsc.ts'
import { vhostNetObstacle } from './machine/host/vhost-net.ts'
import { BakingSlot } from './sandbox/start/baking-slot.ts'
import type { Host, HostPlatform } from './sandbox/model/host.ts'
import type { BakePlace } from './machine/bakes/bakes.ts'
import type { Images } from './store/bakes/images.ts'
import type { KvmGuest, Machine } from './machine/vm/machine.ts'
import { PROBE_LIMITS, probeMachine, type ProbeResult } from './machine/probe/probe-kvm.ts'
import { withVcpus } from './machine/vm/vcpus.ts'

/** KVM was asked for and does not work here; the message says why. */
export class KvmUnavailable extends Error {
  override readonly name = 'KvmUnavailable'
}

export interface ChooseMachine {
  readonly config: Pick<AgentConfig, 'accelerator' | 'kvm'>
  readonly host: Host
  readonly images: Images
  /** The smallest template: what guests can do is tried with it. */
  readonly image: TemplateImage
  /** See `Choice.retriesFailure`. */
  readonly retriesFailure: boolean
  readonly progress: (what: string) => void
}

export interface ChosenAccelerator {
  readonly accelerator: Accelerator
  /** Why not KVM; `null` under KVM. */
  readonly reason: string | null
}

/**
 * Chooses how this host runs guests, and with it the machines that they get.
 * @throws KvmUnavailable
 */
export async function chooseMachine(options: ChooseMachine): Promise<ChosenAccelerator> {
  const { config, host, images, progress } = options
  const { dir } = host.store
  const { qemus, machines } = host.platform
  const device = await findKvmDevice({ isJailed: qemus.current.jail !== null })
  const group = device.isUsable ? device.group : null
  const settings = [device, config.kvm, ...(config.kvm.vhost_net ? [await vhostNetObstacle()] : [])]
  const { version, build } = qemus.ofHost
  const inputs = [version, build, await images.bootHash(), JSON.stringify(settings)]
  const probeDevice = async (lastCpu: string | null): Promise<KvmResult> =>
    device.isUsable ? probeKvm(options, group, lastCpu) : { works: false, reason: device.reason, isTimeout: false }
  const { accelerator, reason, cpu, tscKhz } = await chooseAccelerator({
    path: dir.acceleratorFile,
    tried: inputs.join(' '),
    wanted: config.accelerator,
    retriesFailure: options.retriesFailure,
    probe: probeDevice,
    measure: (known, deadline) => measureTscKhz(images.tscKhz, known, deadline),
  })
  await qemus.choose(accelerator)
  if (reason !== null && config.accelerator === 'kvm') {
    throw new KvmUnavailable(`KVM was asked for and does not work on this host: ${reason}`)
  }
  if (config.kvm.vhost_net) progress(await describeVhostNet(accelerator, host.platform))
  if (reason !== null) progress(`guests run under software emulation (tcg): ${reason}`)
  machines.choose(
    {
      accelerator,
      tscKhz,
      network: networkOf(host.platform),
      hasFixedAddresses: accelerator === 'tcg' && translatesByAddress(qemus.current.version),
      ...(cpu !== null && { kvm: kvmGuest(cpu, config) }),
    },
    accelerator === 'kvm' ? group : null,
  )
  return { accelerator, reason }
}

async function probeKvm(options: ChooseMachine, kvmGroup: number | null, lastCpu: string | null): Promise<KvmResult> {
  const { config, host, image, progress } = options
  const { kvm } = config
  progress('trying whether guests run under KVM')
  try {
    await host.platform.qemus.choose('kvm')
  } catch (error) {
    const reason = `the host's QEMU does not start in a jail: ${(error as Error).message}`
    return { works: false, reason, isTimeout: false }
  }
  const { cpu: vcpus, memory_mb: memoryMib } = withVcpus(image, 'kvm')
  const machine: Machine = {
    accelerator: 'kvm',
    tscKhz: 0,
    vcpus,
    memoryMib,
    network: networkOf(host.platform),
    kvm: kvmGuest(kvm.cpu ?? '', { kvm }),
  }
  const result = await probe(options, { machine, kvmGroup, lastCpu, patience: kvm.patience })
  if (!result.works)
    return { ...result, reason: `KVM was tried and failed at the step "${result.step}": ${result.reason}` }
  return { works: true, cpu: result.machine.kvm?.cpu ?? '' }
}

/** Factor for the time limits of a guest under emulation. */
const TCG_PATIENCE = 6

/** Tries the whole life of a guest with the accelerator that was chosen: software emulation. */
export async function tryGuest(options: ChooseMachine): Promise<ProbeResult> {
  const machine = options.host.platform.machines.of(withVcpus(options.image, 'tcg'))
  return probe(options, { machine, kvmGroup: null, lastCpu: null, patience: TCG_PATIENCE })
}

interface Trial {
  readonly machine: Machine
  readonly kvmGroup: number | null
  readonly lastCpu: string | null
  /** Factor for the time limits. */
  readonly patience: number
}

/** Under the confinement, network and limits that sandboxes get. */
async function probe(
  { config: { kvm }, host, images, image }: ChooseMachine,
  { machine, kvmGroup, lastCpu, patience }: Trial,
): Promise<ProbeResult> {
  const { memoryMib } = machine
  const slots = [new BakingSlot(host, memoryMib), new BakingSlot(host, memoryMib)] as const
  const open = async (slot: BakingSlot): Promise<BakePlace> => {
    const place = await slot.open()
    return { ...place, confinement: { ...place.confinement, kvmGroup } }
  }
  try {
    return await probeMachine({
      qemu: host.platform.qemus.current.path,
      preload: host.store.dir.preload,
      machine,
      cpu: kvm.cpu ?? null,
      lastCpu,
      images,
      image,
      folder: host.store.dir.probe,
      places: [await open(slots[0]), await open(slots[1])],
      limits: { bootMs: PROBE_LIMITS.bootMs * patience, stepMs: PROBE_LIMITS.stepMs * patience },
      threads: host.platform.captureThreads,
    })
  } finally {
    for (const slot of slots) await slot.release()
  }
}

/** For the operator who has asked for vhost-net: without it sandboxes run all the same. */
async function describeVhostNet(accelerator: Accelerator, platform: HostPlatform): Promise<string> {
  const obstacle =
    accelerator !== 'kvm'
      ? 'guests do not run under KVM'
      : networkOf(platform) !== 'tap'
        ? 'guests have no network'
        : await vhostNetObstacle()
  return obstacle === null ? 'guests use vhost-net' : `guests do not use vhost-net: ${obstacle}`
}

function kvmGuest(cpu: string, { kvm }: Pick<AgentConfig, 'kvm'>): KvmGuest {
  return { cpu, kernelParameters: kvm.kernel_parameters, hasVhostNet: kvm.vhost_net }
}

function networkOf({ network }: HostPlatform): Machine['network'] {
  return network === null ? 'user' : 'tap'
}
