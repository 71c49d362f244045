import type { Frame } from '@offshoot/contract/guest-frame'
import type { WideWindows } from './wide-windows.ts'

/** Whoever waits for the frames of one stream id. */
export interface LinkStream {
  /** @returns whether this was the last frame of the stream. */
  onFrame(frame: Frame): boolean
  onLinkLost(error: Error): void
}

/** The first frame of a new stream, for the id it was given. */
export type Opening = (id: number) => Uint8Array
export type MakeStream<T extends LinkStream> = (id: number, send: (frame: Uint8Array) => void, wide: WideWindows) => T
