import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { Deadline } from '@offshoot/kit/deadline'
import { bake } from './bake.ts'
import type { BakePlace } from './bakes.ts'
import type { BakeImages } from './images.ts'
import type { Machine } from './machine.ts'
import { prepareGuest } from './prepare-guest.ts'

/** Milliseconds; under KVM a guest is baked after a fraction of it. */
const BAKE_MS = 15_000
const FINGERPRINT = 'probe'

export interface Probe {
  readonly qemu: string
  readonly machine: Machine
  readonly images: BakeImages
  readonly image: TemplateImage
  /** For the probe alone; removed afterwards. */
  readonly folder: string
  /** User, network and limits that VMs get. */
  readonly place: BakePlace
}

/** Bakes a template exactly as it is baked to be used, and gives why that does not work; `null`: it does. */
export async function probeMachine({ folder, place, ...options }: Probe): Promise<string | null> {
  await rm(folder, { recursive: true, force: true })
  try {
    await mkdir(folder, { recursive: true, mode: 0o711 })
    const bakeFolder = join(folder, options.image.name, FINGERPRINT)
    const made = { ...options, ...place, folder: bakeFolder, fingerprint: FINGERPRINT, prepare: prepareGuest }
    await bake(made, Deadline.after(BAKE_MS, 'boot and bake of a guest'))
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
