import type { TemplateImage } from '@offshoot/contract/template-image'
import type { Admission } from '../model/admission.ts'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'

export interface OnDemandTemplatesOptions {
  readonly images: readonly TemplateImage[]
  readonly admission: Pick<Admission, 'admit'>
  /** Bakes one template. A failed bake leaves nothing behind. */
  readonly bake: (image: TemplateImage) => Promise<BakedTemplate>
  /** The baked templates, by name. */
  readonly templates: Map<string, BakedTemplate>
}

/**
 * Templates that the agent bakes at the first create of one (`on_demand`): large guests that few hosts ever need. The agent
 * bakes one at a time, because a bake takes as much memory as its guest.
 */
export class OnDemandTemplates {
  readonly #options: OnDemandTemplatesOptions
  readonly #underWay = new Map<string, Promise<BakedTemplate>>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: OnDemandTemplatesOptions) {
    this.#options = options
  }

  /** The templates that are not baked yet. */
  get images(): TemplateImage[] {
    return this.#options.images.filter(({ name }) => !this.#options.templates.has(name))
  }

  /**
   * Concurrent callers share one bake. The next caller retries a failed one.
   * @returns `null` for an unknown template
   * @throws ApiError 507 not enough memory; or the error of the bake
   */
  async bake(name: string): Promise<BakedTemplate | null> {
    const image = this.#options.images.find((each) => each.name === name)
    if (image === undefined) return null
    const { templates } = this.#options
    const baked = templates.get(name) ?? this.#underWay.get(name)
    if (baked !== undefined) return baked
    const baking = this.#bakeAfterOthers(image).finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, baking)
    return baking
  }

  async #bakeAfterOthers(image: TemplateImage): Promise<BakedTemplate> {
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
