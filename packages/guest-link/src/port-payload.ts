import { GuestProtocolError } from '@offshoot/contract/guest-frame'

/** @throws RangeError for what is no TCP port */
export function encodePort(port: number): Uint8Array {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new RangeError(`TCP port ${port}`)
  return Uint8Array.of(port & 0xff, port >> 8)
}

/** In ascending order. @throws GuestProtocolError */
export function decodePorts(payload: Uint8Array): number[] {
  if (payload.length % 2 !== 0) throw new GuestProtocolError('bad LISTENER_LIST')
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  return Array.from({ length: payload.length / 2 }, (_unused, index) => view.getUint16(2 * index, true)).toSorted(
    (a, b) => a - b,
  )
}
