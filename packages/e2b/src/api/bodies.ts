import { z } from 'zod'
import { notImplemented } from './errors.ts'

const timeout = z.int().min(0).max(2_147_483_647)
const strings = z.record(z.string(), z.string())
const network = z.object({
  allowOut: z.array(z.string()).nullish(),
  denyOut: z.array(z.string()).nullish(),
  allowPublicTraffic: z.boolean().nullish(),
})

/** All addresses, as clients write them in rules. */
const EVERYTHING = '0.0.0.0/0'

/** Body of `POST /sandboxes` and `POST /v2/sandboxes`. Seconds. */
export const createBody = z.object({
  templateID: z.string().min(1).max(512),
  timeout: timeout.nullish(),
  metadata: strings.nullish(),
  envVars: strings.nullish(),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean().nullish(), policy: z.string().nullish() }).nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: network.loose().nullish(),
  volumeMounts: z.array(z.unknown()).nullish(),
  iam: z.unknown().optional(),
})
export type CreateBody = z.infer<typeof createBody>

/** Body of `POST …/connect` and `POST …/resume`. */
export const connectBody = z.object({
  timeout: timeout.nullish(),
  memory: z.boolean().nullish(),
  autoPause: z.boolean().nullish(),
})
/** Body of `POST …/timeout`. */
export const timeoutBody = z.object({ timeout })
/** Body of `POST …/refreshes`. */
export const refreshBody = z.object({ duration: timeout.nullish() })
/** Body of `POST …/pause`. */
export const pauseBody = z.object({ memory: z.boolean().nullish() }).nullish()
/** Body of `POST …/fork`. */
export const forkBody = z.object({ timeout: timeout.nullish(), count: z.int().min(1).max(16).nullish() }).nullish()

/** Outbound network of a new sandbox. @throws {ApiFailure} 501 for rules that name addresses, hosts or headers */
export function egressOf({ allow_internet_access: isAllowed, network }: CreateBody): 'internet' | 'none' {
  const { allowOut, denyOut, allowPublicTraffic, ...rest } = network ?? {}
  if (allowPublicTraffic === false) throw notImplemented('private ports (allowPublicTraffic: false)')
  const others = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null)
  const isPartial = (allowOut ?? []).length > 0 || (denyOut ?? []).some((address) => address !== EVERYTHING)
  if (isPartial || others.length > 0) throw notImplemented('network rules')
  return isAllowed === false || (denyOut ?? []).length > 0 ? 'none' : 'internet'
}

/** @throws {ApiFailure} 501 for a feature that the gateway does not have */
export function refuseUnsupported({ volumeMounts, iam, autoPauseMemory }: CreateBody): void {
  if ((volumeMounts ?? []).length > 0) throw notImplemented('volume mounts')
  if (iam !== undefined && iam !== null) throw notImplemented('workload identity')
  if (autoPauseMemory === false) throw notImplemented('a pause without memory at the timeout')
}
