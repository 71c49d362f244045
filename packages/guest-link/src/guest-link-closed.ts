/** Why a link ended. */
export interface GuestLinkClosed {
  /** `closed`: by the host. `lost`: the other end went away. `protocol`: the guest broke the protocol. */
  readonly reason: 'closed' | 'lost' | 'protocol'
  readonly message: string
}

/** Too much waits for the guest: on its own link, or on all together and the most of it there. */
export const TAKES_NOTHING: GuestLinkClosed = { reason: 'protocol', message: 'the guest takes nothing any more' }
