import { encodeFrame, FrameType } from '@offshoot/contract/guest-frame'

/** The size of a terminal in characters; each 1 to 65535. */
export interface TerminalSize {
  readonly rows: number
  readonly cols: number
}

/** The RESIZE frame of a stream. @throws RangeError */
export function encodeResize(stream: number, size: TerminalSize): Uint8Array {
  const payload = Buffer.alloc(4)
  payload.writeUInt16LE(size.rows, 0)
  payload.writeUInt16LE(size.cols, 2)
  return encodeFrame(FrameType.resize, stream, payload)
}
