/**
 * The QEMU of this host, and earlier ones from before upgrades. A QEMU loads device states of its own series only. So the
 * agent restores an earlier checkpoint with an earlier QEMU, from the root of the jail that it ran in (`jail.ts`).
 *
 * The agent makes a root for the host's current version, keeps it while a VM runs in it or a checkpoint needs it, and then
 * removes it (`sandbox/cleanup/sweep-qemu-versions.ts`).
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
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

/** The QEMU of this host, in its jail where it has one. */
export interface CurrentQemu extends Qemu, QemuVersion {}

interface Place {
  /** Contains the roots. */
  readonly folder: string
  readonly qemu: Qemu
  /** Its jail; `null`: this host has no jails, so no earlier QEMU can be started. */
  readonly jail: Jail | null
  readonly preload: string
}

export class QemuVersions {
  readonly current: CurrentQemu
  #earlier: readonly QemuVersion[]

  constructor(current: CurrentQemu, earlier: readonly QemuVersion[] = []) {
    this.current = current
    this.#earlier = earlier.toSorted((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }))
  }

  /** Reports and keeps a root whose QEMU does not start. */
  static async open({ folder, qemu, jail, preload }: Place, log: Logger, deadline: Deadline): Promise<QemuVersions> {
    const current: CurrentQemu = { ...qemu, jail }
    if (jail === null) return new QemuVersions(current)
    const earlier: QemuVersion[] = []
    for (const name of await readdir(folder)) {
      const root = join(folder, name)
      if (UNFINISHED.test(name)) await rm(root, { recursive: true, force: true })
      const found = ROOT.exec(name)?.[1]
      if (found === undefined || root === jail.root) continue
      try {
        const reopened = await reopenJail(jail, root, { qemu: qemu.path, preload }, deadline)
        earlier.push({ version: found, ...reopened })
      } catch (error) {
        log.error({ err: error, root: name }, 'the QEMU of an earlier version cannot be started: its root is kept')
      }
    }
    return new QemuVersions(current, earlier)
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
