/**
 * The QEMU that VMs start with, and earlier ones from before upgrades. A QEMU loads device states of its own series only. So
 * the agent restores an earlier checkpoint with an earlier QEMU, from the root of the jail that it ran in (`jail.ts`).
 *
 * Under KVM that is the host's own, otherwise the one that the images bring, if they do (docs/adr/0066-qemu-of-debian-13.md).
 *
 * The agent makes a root for the current version, keeps it while a VM runs in it or a checkpoint needs it, and then removes it
 * (`sandbox/cleanup/sweep-qemu-versions.ts`).
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Accelerator } from '@offshoot/contract/agent-api'
import type { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import { CheckpointIncompatible } from '../../store/checkpoints/checkpoint-errors.ts'
import { type Jail, reopenJail } from './jail.ts'
import { type Qemu, qemuSeries } from './qemu.ts'

export interface QemuVersion {
  /** `7.2.22` */
  readonly version: string
  /** Path of the program; inside the jail if it has one. */
  readonly path: string
  readonly jail: Jail | null
}

/** Names of roots: `VERSION-DIGEST`. */
const ROOT = /^(\d+\.\d+\.\d+)-[0-9a-f]{16}$/
/** Names of unfinished roots. */
const UNFINISHED = /^\.new-/

/** A QEMU of this host or its images, in its jail where it has one. */
export interface CurrentQemu extends Qemu, QemuVersion {}

/** The host's own QEMU. */
export interface HostQemu {
  readonly qemu: Qemu
  /** Opens its jail. */
  readonly open: () => Promise<CurrentQemu>
}

interface Place {
  /** Contains the roots. */
  readonly folder: string
  /** What emulates. Without a jail, no earlier QEMU can be started. */
  readonly current: CurrentQemu
  readonly hosts: HostQemu
  readonly preload: string
}

export class QemuVersions {
  readonly #emulating: CurrentQemu
  readonly #hosts: HostQemu
  #opened: Promise<CurrentQemu> | undefined
  #current: CurrentQemu
  #earlier: readonly QemuVersion[]

  /** @param current what emulates, and is current until KVM is tried */
  constructor(
    current: CurrentQemu,
    earlier: readonly QemuVersion[] = [],
    hosts: HostQemu = { qemu: current, open: () => Promise.resolve(current) },
  ) {
    this.#emulating = current
    this.#hosts = hosts
    this.#current = current
    this.#earlier = sorted(earlier)
  }

  /** Reports and keeps a root whose QEMU does not start. */
  static async open(
    { folder, current, hosts, preload }: Place,
    log: Logger,
    deadline: Deadline,
  ): Promise<QemuVersions> {
    const { jail, path } = current
    if (jail === null) return new QemuVersions(current, [], hosts)
    const earlier: QemuVersion[] = []
    for (const name of await readdir(folder)) {
      const root = join(folder, name)
      if (UNFINISHED.test(name)) await rm(root, { recursive: true, force: true })
      const found = ROOT.exec(name)?.[1]
      if (found === undefined || root === jail.root) continue
      try {
        const reopened = await reopenJail(jail, root, { qemu: path, preload }, deadline)
        earlier.push({ version: found, ...reopened })
      } catch (error) {
        log.error({ err: error, root: name }, 'the QEMU of an earlier version cannot be started: its root is kept')
      }
    }
    return new QemuVersions(current, earlier, hosts)
  }

  get current(): CurrentQemu {
    return this.#current
  }

  /** The host's own QEMU, with which KVM is tried. */
  get ofHost(): Qemu {
    return this.#hosts.qemu
  }

  /** From now on, VMs start with the QEMU for this accelerator. */
  async choose(accelerator: Accelerator): Promise<void> {
    const chosen = accelerator === 'kvm' ? await (this.#opened ??= this.#hosts.open()) : this.#emulating
    if (chosen === this.#current) return
    const roots = new Set([chosen, this.#current].map(({ jail }) => jail?.root))
    this.#earlier = sorted([this.#current, ...this.#earlier.filter(({ jail }) => !roots.has(jail?.root))])
    this.#current = chosen
  }

  /** The newest first. */
  get earlier(): readonly QemuVersion[] {
    return this.#earlier
  }

  /** All versions that can restore checkpoints, the preferred one first. */
  get all(): readonly QemuVersion[] {
    return [this.current, ...this.#earlier]
  }

  /**
   * The preferred QEMU of the series of `version`.
   * @param version of the QEMU that wrote the state; `undefined`: there is no state to load
   * @throws CheckpointIncompatible if this host has none
   */
  of(version: string | undefined): QemuVersion {
    if (version === undefined) return this.current
    const found = this.all.find((each) => qemuSeries(each.version) === qemuSeries(version))
    if (found === undefined) throw new CheckpointIncompatible(`this host has no QEMU ${qemuSeries(version)} any more`)
    return found
  }

  /** From now on, the agent starts no VM with it. */
  forget(version: QemuVersion): void {
    this.#earlier = this.#earlier.filter((each) => each !== version)
  }
}

/** From new to old. */
function sorted(versions: readonly QemuVersion[]): readonly QemuVersion[] {
  return versions.toSorted((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }))
}
