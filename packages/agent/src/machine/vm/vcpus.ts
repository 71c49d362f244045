import type { Accelerator } from '@offshoot/contract/agent-api'
import type { TemplateImage } from '@offshoot/contract/template-image'

/** An image with the vCPUs that it gets on this host: under emulation, each additional one costs time, even if it idles. */
export function withVcpus(image: TemplateImage, accelerator: Accelerator): TemplateImage {
  return accelerator === 'kvm' ? { ...image, cpu: image.cpu_hardware ?? image.cpu } : image
}
