/** Why a link ended. */
export interface GuestLinkClosed {
  /** `closed`: by the host. `lost`: the other end went away. `protocol`: the guest broke the protocol. */
  readonly reason: 'closed' | 'lost' | 'protocol'
  readonly message: string
}
