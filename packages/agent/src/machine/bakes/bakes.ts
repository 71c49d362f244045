import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { Deadline } from '@offshoot/kit/deadline'
import type { Qemu } from '../host/qemu.ts'
import { bake } from './bake.ts'
import { bakeFiles, listBakedNames, removeBakesBut } from '../../store/bakes/bake-files.ts'
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

/** Provides the slot and the confinement of a bake's VM. Called for each bake. */
export type BakeSlot = () => Promise<BakePlace>
export interface BakePlace {
  readonly confinement: Confinement
  readonly tap: TapGiver | null
  /** Applies the VM's resource limits to the process. */
  readonly limit?: (pid: number) => Promise<void>
}

export interface BakesOptions {
  readonly folder: string
  readonly images: BakeImages
  readonly qemu: Qemu
  readonly slot: BakeSlot
  readonly machineOf: (image: TemplateImage) => Machine
  /** Factor for the time limit of a bake; 1 if absent. */
  readonly patience?: number
}

/** The baked templates of one agent: `bakes/NAME/FINGERPRINT`. */
export class Bakes {
  readonly #options: BakesOptions

  constructor(options: BakesOptions) {
    this.#options = options
  }

  /** The folder for an image's bake, and the bake if it exists. A stale bake has another fingerprint, so another folder. */
  async find(image: TemplateImage): Promise<{ folder: string; fingerprint: string; baked: BakedTemplate | null }> {
    const { images, qemu, machineOf } = this.#options
    const machine = machineOf(image)
    const name = await fingerprint({
      qemu,
      machine,
      imageVersion: image.version,
      bootHash: await images.bootHash(),
    })
    // Never overwrite a folder whose record is missing or unreadable: checkpoints may need its memory, and the memory of a
    // new bake differs. The sweep deletes bakes that nothing needs.
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
   * Bakes an image, unless its bake exists.
   * @param prepare brings the booted guest into the state that the bake saves
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

  /** Deletes all bakes, complete or not, except those in `keep` (`NAME/FINGERPRINT`). */
  async removeAllBut(keep: ReadonlySet<string>): Promise<void> {
    const { folder } = this.#options
    for (const name of await listBakedNames(folder)) await removeBakesBut(folder, name, keep)
  }
}
