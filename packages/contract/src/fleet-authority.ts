import { z } from 'zod'

/** Maximum processes in `waits_for` of one answer. */
export const MAX_WAITED_SHOWN = 100

const authority = z.object({
  /** Of its certificate, in hexadecimal. */
  sha256: z.string(),
  /** RFC 3339, UTC. */
  expires_at: z.string(),
})

/** The authority that signs the certificates of control, edges and hosts, as operators see it. */
export const fleetAuthority = z.object({
  /**
   * `settled`: there is one authority. `introducing`: control, edges and hosts learn to trust a new one, and the present
   * one still signs. `replacing`: the new one signs, and the old one is still trusted.
   */
  step: z.enum(['settled', 'introducing', 'replacing']),
  /** Counts the steps. Each certificate says the version at which it was issued. */
  version: z.int(),
  /** The one that signs; `null`: no host has joined yet. */
  current: authority.nullable(),
  /** While it is introduced, the new one; while it is replaced, the old one. Otherwise `null`. */
  other: authority.nullable(),
  /** How many hosts, edges and control processes do not use a certificate of this version yet. */
  waiting: z.int(),
  /** The first of them, at most {@link MAX_WAITED_SHOWN}. The next step comes when there are none. */
  waits_for: z.array(
    z.object({
      kind: z.enum(['host', 'edge', 'control']),
      /** Of a host, its id. Of a control process, its number. */
      id: z.string(),
      /** No control process hears it. */
      is_lost: z.boolean(),
    }),
  ),
})
export type FleetAuthorityState = z.infer<typeof fleetAuthority>

/** Body of `POST /v1/admin/hosts/authority/advance`. */
export const advanceAuthorityBody = z.strictObject({
  /** Why nobody is waited for any longer. The audit log records it. */
  reason: z.string().trim().min(1).max(500),
})
