import type { TemplateImage } from '@offshoot/contract/template-image'
import { expect, it } from 'vitest'
import { withVcpus } from './vcpus.ts'

const image: TemplateImage = {
  name: 'x',
  version: '0'.repeat(32),
  cpu: 1,
  memory_mb: 128,
  disk_mb: 64,
  start_cmd: null,
  ready_cmd: null,
  description: '',
  packages: {},
}

it.each([
  ['kvm', 8, 8],
  ['tcg', 8, 1],
  ['kvm', undefined, 1],
] as const)('under %s an image with %s vCPUs gets %i', (accelerator, wanted, cpu) => {
  const asking = wanted === undefined ? image : { ...image, cpu_hardware: wanted }
  expect(withVcpus(asking, accelerator)).toEqual({ ...asking, cpu })
})
