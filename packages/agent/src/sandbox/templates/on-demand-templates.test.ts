import { ApiError } from '@offshoot/contract/errors'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { expect, it } from 'vitest'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import { OnDemandTemplates } from './on-demand-templates.ts'

const imageOf = (name: string): TemplateImage => ({
  name,
  version: '0123456789abcdef',
  cpu: 1,
  memory_mb: 4096,
  disk_mb: 64,
  start_cmd: null,
  ready_cmd: null,
  description: '',
  packages: {},
})

function opened(bake: (image: TemplateImage) => Promise<void>, admit = () => Promise.resolve(() => undefined as void)) {
  const templates = new Map<string, BakedTemplate>()
  const onDemand = new OnDemandTemplates({
    images: [imageOf('a'), imageOf('b')],
    templates,
    admission: { admit },
    bake: async (image) => {
      await bake(image)
      return { image } as BakedTemplate
    },
  })
  return { onDemand, templates }
}

it('bakes each template once for all concurrent callers, one template at a time', async () => {
  const begun: string[] = []
  let atOnce = 0
  const { onDemand, templates } = opened(async ({ name }) => {
    begun.push(name)
    expect((atOnce += 1)).toBe(1)
    await new Promise((resolve) => setImmediate(resolve))
    atOnce -= 1
  })
  expect(onDemand.images.map(({ name }) => name)).toEqual(['a', 'b'])
  const baked = await Promise.all(['a', 'a', 'b', 'c'].map((name) => onDemand.bake(name)))
  expect(baked.map((each) => each?.image.name)).toEqual(['a', 'a', 'b', undefined])
  await onDemand.bake('a')
  expect([begun, onDemand.images, [...templates.keys()]]).toEqual([['a', 'b'], [], ['a', 'b']])
})

it('retries a failed bake, and reports the failure to its caller', async () => {
  let fails = true
  const { onDemand } = opened(() => (fails ? Promise.reject(new Error('no disk')) : Promise.resolve()))
  await expect(onDemand.bake('a')).rejects.toThrow('no disk')
  fails = false
  expect(await onDemand.bake('a')).toMatchObject({ image: { name: 'a' } })
})

it('bakes nothing if the host lacks the memory', async () => {
  const { onDemand } = opened(
    () => Promise.reject(new Error('baked')),
    () => Promise.reject(new ApiError('insufficientMemory')),
  )
  await expect(onDemand.bake('a')).rejects.toMatchObject({ status: 507 })
})
