import type { TemplateImage } from '@offshoot/contract/template-image'
import type { Admission } from '../model/admission.ts'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'

export interface OnDemandTemplatesOptions {
  readonly images: readonly TemplateImage[]
  readonly admission: Pick<Admission, 'admit'>
  /** Bakes one; whatever fails, nothing is left of it. */
  readonly bake: (image: TemplateImage) => Promise<BakedTemplate>
  /** Those that are baked, by name. */
  readonly templates: Map<string, BakedTemplate>
}

/**
 * Templates that are baked at the first request for one (`on_demand`): large guests that few hosts ever need. One is baked at a time,
 * because a bake takes as much memory as its guest.
 */
export class OnDemandTemplates {
  readonly #options: OnDemandTemplatesOptions
  readonly #underWay = new Map<string, Promise<BakedTemplate>>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: OnDemandTemplatesOptions) {
    this.#options = options
  }

  /** Those that are not baked yet. */
  get images(): TemplateImage[] {
    return this.#options.images.filter(({ name }) => !this.#options.templates.has(name))
  }

  /**
   * Callers at the same time share one bake; one that failed is tried again by the next.
   * @returns `null` for a template that is none of these
   * @throws ApiError 507 no memory for it; Error as the bake does
   */
  async bake(name: string): Promise<BakedTemplate | null> {
    const image = this.#options.images.find((each) => each.name === name)
    if (image === undefined) return null
    const { templates } = this.#options
    const baked = templates.get(name) ?? this.#underWay.get(name)
    if (baked !== undefined) return baked
    const baking = this.#inTurn(image).finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, baking)
    return baking
  }

  async #inTurn(image: TemplateImage): Promise<BakedTemplate> {
    const { admission, bake, templates } = this.#options
    const before = this.#last
    const turn = (async () => {
      await before.catch(() => undefined)
      const release = await admission.admit(image.memory_mb)
      try {
        const baked = await bake(image)
        templates.set(image.name, baked)
        return baked
      } finally {
        release()
      }
    })()
    this.#last = turn.catch(() => undefined)
    return turn
  }
}
