/**
 * The QEMU of this host, and those that it had before an upgrade. A QEMU loads the device states of its own series only, so that what
 * was saved by an earlier one is restored by that one, out of the root of the jail that it ran in (`jail.ts`).
 *
 * A root is made when its version is the host's, is kept while a VM runs in it or a checkpoint needs it, and is removed after that
 * (`sandbox/cleanup/sweep-qemu-versions.ts`).
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
  /** Of the program; in its jail where it has one. */
  readonly path: string
  readonly jail: Jail | null
}

/** Names of roots: `VERSION-DIGEST`. */
const ROOT = /^(\d+\.\d+\.\d+)-[0-9a-f]{16}$/
/** Names of roots that were never finished. */
const UNFINISHED = /^\.new-/

/** The QEMU of this host, in its jail where it has one. */
export interface CurrentQemu extends Qemu, QemuVersion {}

interface Place {
  /** Holds the roots. */
  readonly folder: string
  readonly qemu: Qemu
  /** Of the host's own QEMU; `null`: this host has no jails, and no earlier QEMU can be started. */
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

  /** A root whose QEMU does not start is reported, and kept. */
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

  /** Those that checkpoints may be restored by, the preferred one first. */
  get all(): readonly QemuVersion[] {
    return [this.current, ...this.#earlier]
  }

  /**
   * The QEMU that loads what a version has saved: the preferred one of its series.
   * @param version `undefined`: nothing is to be loaded
   * @throws CheckpointIncompatible when this host has none
   */
  of(version: string | undefined): QemuVersion {
    if (version === undefined) return this.current
    const found = this.all.find((each) => qemuSeries(each.version) === qemuSeries(version))
    if (found === undefined) throw new CheckpointIncompatible(`this host has no QEMU ${qemuSeries(version)} any more`)
    return found
  }

  /** Nothing is started by it from now on. */
  forget(version: QemuVersion): void {
    this.#earlier = this.#earlier.filter((each) => each !== version)
  }
}
