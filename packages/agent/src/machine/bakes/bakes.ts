import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { Deadline } from '@offshoot/kit/deadline'
import type { Qemu } from '../host/qemu.ts'
import { bake } from './bake.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { readBakeManifest, type BakeManifest } from '../../store/bakes/bake-manifest.ts'
import type { Confinement, TapGiver } from '../vm/confinement.ts'
import { fingerprint } from '../vm/machine-fingerprint.ts'
import type { BakeImages } from '../../store/bakes/images.ts'
import { prepareGuest, type PrepareGuest } from './prepare-guest.ts'
import type { Machine } from '../vm/machine.ts'
import { isPresent } from '../../store/ledger/is-present.ts'

/** Milliseconds for one bake: a cold boot and the template's own commands, on a slow and busy machine. */
const BAKE_MS = 180_000

/** A template that can be restored. */
export interface BakedTemplate {
  readonly image: TemplateImage
  readonly machine: Machine
  readonly folder: string
  readonly manifest: BakeManifest
}

/** What VMs are baked in; asked when one is. */
export type BakeSlot = () => Promise<BakePlace>
export interface BakePlace {
  readonly confinement: Confinement
  readonly tap: TapGiver | null
  /** Puts the process under the limits of its VM. */
  readonly limit?: (pid: number) => Promise<void>
}

export interface BakesOptions {
  readonly folder: string
  readonly images: BakeImages
  readonly qemu: Qemu
  readonly slot: BakeSlot
  readonly machineOf: (image: TemplateImage) => Machine
  /** Times the usual time for a bake. */
  readonly patience?: number
}

/** The frozen templates of one agent: `bakes/NAME/FINGERPRINT`. */
export class Bakes {
  readonly #options: BakesOptions

  constructor(options: BakesOptions) {
    this.#options = options
  }

  /** Where the bake of an image lies or would lie, and whether it is there: a stale one is under another name. */
  async find(image: TemplateImage): Promise<{ folder: string; fingerprint: string; baked: BakedTemplate | null }> {
    const { images, qemu, machineOf } = this.#options
    const machine = machineOf(image)
    const name = await fingerprint({
      qemu,
      machine,
      imageVersion: image.version,
      bootHash: await images.bootHash(),
    })
    // Checkpoints lie over the memory of their bake. One whose record is gone or cannot be read is never made anew in its place:
    // the memory would be another. What nothing was made from is swept.
    for (let attempt = 1; ; attempt++) {
      const tried = attempt === 1 ? name : `${name}-${attempt}`
      const folder = join(this.#options.folder, image.name, tried)
      const read = await readBakeManifest(bakeFiles(folder).manifest)
      if (read.state === 'present') {
        return { folder, fingerprint: tried, baked: { image, machine, folder, manifest: read.record } }
      }
      if (read.state === 'absent' && !(await isPresent(folder))) return { folder, fingerprint: tried, baked: null }
    }
  }

  /**
   * Bakes an image unless that has been done.
   * @param prepare brings the booted guest into the state that is frozen
   */
  async ensure(
    image: TemplateImage,
    deadline: Deadline = Deadline.after(BAKE_MS * (this.#options.patience ?? 1), `bake of ${image.name}`),
    prepare: PrepareGuest = prepareGuest,
  ): Promise<BakedTemplate> {
    const { folder, fingerprint, baked } = await this.find(image)
    if (baked) return baked
    const { qemu, images, slot, machineOf } = this.#options
    const place = await slot()
    const machine = machineOf(image)
    await mkdir(join(this.#options.folder, image.name), { recursive: true, mode: 0o711 })
    const options = { qemu: qemu.path, machine, image, images, folder, fingerprint, ...place, prepare }
    await bake(options, deadline)
    const read = await readBakeManifest(bakeFiles(folder).manifest)
    if (read.state !== 'present') throw new Error(`the record of the new bake of ${image.name} is ${read.state}`)
    return { image, machine, folder, manifest: read.record }
  }

  /** Removes every bake, whole or half made, that is not in `keep` (folders such as `NAME/FINGERPRINT`). */
  async removeAllBut(keep: ReadonlySet<string>): Promise<void> {
    for (const template of await readdir(this.#options.folder)) {
      const folder = join(this.#options.folder, template)
      for (const name of await readdir(folder)) {
        if (!keep.has(`${template}/${name}`)) await rm(join(folder, name), { recursive: true, force: true })
      }
      if (![...keep].some((kept) => kept.startsWith(`${template}/`))) await rm(folder, { recursive: true, force: true })
    }
  }
}
