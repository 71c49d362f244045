import type { TemplateImage } from '@offshoot/contract/template-image'
import { z } from 'zod'

/** How commands run that do not say it themselves: the `USER` and `WORKDIR` of an image. */
export const runAs = z.object({ user: z.string().optional(), cwd: z.string().optional() }).default({})
export type RunAs = z.infer<typeof runAs>

export function runAsOf({ user, cwd }: TemplateImage): RunAs {
  return { ...(user !== undefined && { user }), ...(cwd !== undefined && { cwd }) }
}
