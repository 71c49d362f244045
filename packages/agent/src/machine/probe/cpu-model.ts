import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import type { CpuDefinition } from '@offshoot/qmp/commands'
import type { BakePlace } from '../bakes/bakes.ts'
import { launch } from '../vm/launch.ts'
import { cpuQueryArguments } from '../vm/machine.ts'
import { endedWith } from '../restore/restore.ts'
import { Vm } from '../vm/vm.ts'

/**
 * QEMU's CPU models that guests get under KVM, the best first. Not the host's own CPU: a checkpoint of a guest that has seen
 * that can be restored nowhere else, and not even here after an update of the microcode that takes a feature away. All
 * hosts newer than the first of a list offer it, so that they agree.
 *
 * Versions are named, because what a name alone means changes with QEMU. None has TSX, which microcode has removed from CPUs
 * before (`-v2` of the first two: the variant `noTSX`).
 */
const INTEL = ['Broadwell-v2', 'Haswell-v2', 'IvyBridge-v1', 'SandyBridge-v1', 'Westmere-v1', 'Nehalem-v1']
const AMD = ['EPYC-v1', 'Opteron_G3-v1']

const KILL_MS = 5000

export interface CpuQuery {
  readonly qemu: string
  /** An empty folder that the VM's user may write. */
  readonly folder: string
  readonly place: BakePlace
  /** The model that guests here have had: it is kept while the host offers it. */
  readonly lastCpu: string | null
}

/** The model for this host's guests. @throws Error which says what the host lacks */
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
    throw await endedWith(vm, error)
  } finally {
    await vm.kill(Deadline.after(KILL_MS, 'end of a QEMU that was asked for CPU models'))
  }
}

async function readVendor(): Promise<string | undefined> {
  return /^vendor_id\s*:\s*(\S+)$/m.exec(await readFile('/proc/cpuinfo', 'utf8'))?.[1]
}
