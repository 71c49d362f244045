/** Bytes of the answer with which a peer refuses: a sentence or two, and what it is about. */
export const MAX_REFUSAL_BYTES = 64 * 1024

/** The body of an answer. @throws Error when it is over `maxBytes`; the rest is not taken, and the peer hung up on */
export async function readWhole(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    if (bytes > maxBytes) throw new Error(`answer is over ${maxBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The body of an answer, or its first `maxBytes`: for what is only shown, or where the status says enough. */
export async function readBeginning(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    parts.push(part.subarray(0, maxBytes - bytes))
    bytes += part.length
    if (bytes >= maxBytes) break
  }
  return Buffer.concat(parts)
}
