import type { Frame } from '@offshoot/contract/guest-frame'

/** Whoever waits for the frames of one stream id. */
export interface LinkStream {
  /** @returns whether this was the last frame of the stream. */
  onFrame(frame: Frame): boolean
  onLinkLost(error: Error): void
}
