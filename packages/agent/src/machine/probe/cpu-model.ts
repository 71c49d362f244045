import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import type { CpuDefinition } from '@offshoot/qmp/commands'
import type { BakePlace } from '../bakes/bakes.ts'
import { launch } from '../vm/launch.ts'
import { cpuQueryArguments } from '../vm/machine.ts'
import { explainFailure } from '../restore/restore.ts'
import { Vm } from '../vm/vm.ts'

/**
 * The CPU models that guests may get under KVM, the newest first. A checkpoint can be restored on any host that offers its
 * guest's model. With the host's own CPU, it could be restored on no other host, and not even on this one after a microcode
 * update that removes a feature. The newest model of the list is an old one, so that all newer hosts agree on it.
 *
 * Each name has a version, because QEMU changes the meaning of a name without one. None has TSX, which microcode updates
 * have removed (`-v2` of the first two is the variant `noTSX`).
 */
const INTEL = ['Broadwell-v2', 'Haswell-v2', 'IvyBridge-v1', 'SandyBridge-v1', 'Westmere-v1', 'Nehalem-v1']
const AMD = ['EPYC-v1', 'Opteron_G3-v1']

const KILL_MS = 5000

export interface CpuQuery {
  readonly qemu: string
  /** An empty folder, writable for the VM's user. */
  readonly folder: string
  readonly place: BakePlace
  /** The model of this agent's existing guests. It is kept while the host offers it. */
  readonly lastCpu: string | null
}

/** The model for this host's guests. @throws Error that names the features that the host lacks */
export async function findCpuModel(query: CpuQuery, deadline: Deadline): Promise<string> {
  const definitions = await askQemu(query, deadline)
  return chooseCpuModel(definitions, (await readVendor()) ?? 'GenuineIntel', query.lastCpu)
}

export function chooseCpuModel(definitions: readonly CpuDefinition[], vendor: string, lastCpu: string | null): string {
  const wanted = vendor === 'AuthenticAMD' || vendor === 'HygonGenuine' ? AMD : INTEL
  const lacking = new Map(definitions.map(({ name, 'unavailable-features': features = [] }) => [name, features]))
  const chosen = [...(lastCpu === null ? [] : [lastCpu]), ...wanted].find((name) => lacking.get(name)?.length === 0)
  if (chosen !== undefined) return chosen
  const least = wanted.at(-1) ?? ''
  const features = lacking.get(least)?.join(', ') ?? 'the model itself'
  throw new Error(`KVM offers none of the CPU models ${wanted.join(', ')}: for ${least} it lacks ${features}`)
}

async function askQemu({ qemu, folder, place }: CpuQuery, deadline: Deadline): Promise<readonly CpuDefinition[]> {
  const logPath = join(folder, 'qemu.log')
  const { confinement } = place
  const args = cpuQueryArguments()
  const launched = await launch({
    qemu,
    args,
    folder,
    logPath,
    confinement,
    accelerator: 'kvm',
    tap: null,
    files: [],
    preload: null,
  })
  const vm = new Vm(folder, launched, null)
  try {
    return await vm.qmp.execute('query-cpu-definitions', {}, deadline)
  } catch (error) {
    throw await explainFailure(vm, error)
  } finally {
    await vm.kill(Deadline.after(KILL_MS, 'end of the QEMU that listed CPU models'))
  }
}

async function readVendor(): Promise<string | undefined> {
  return /^vendor_id\s*:\s*(\S+)$/m.exec(await readFile('/proc/cpuinfo', 'utf8'))?.[1]
}
