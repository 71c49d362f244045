import type { Accelerator } from '@offshoot/contract/agent-api'
import type { TemplateImage } from '@offshoot/contract/template-image'

/** An image with as many vCPUs as it gets here: under emulation each more costs the others time, even when it idles. */
export function withVcpus(image: TemplateImage, accelerator: Accelerator): TemplateImage {
  return accelerator === 'kvm' ? { ...image, cpu: image.cpu_hardware ?? image.cpu } : image
}
