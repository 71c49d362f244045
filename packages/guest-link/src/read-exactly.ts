import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** That many bytes of a stream that stays open for more, or undefined when it ends before. */
export async function readExactly(stream: Readable, bytes: number): Promise<Buffer | undefined> {
  if (bytes === 0) return Buffer.alloc(0)
  for (;;) {
    const chunk = stream.read(bytes) as Buffer | null
    if (chunk !== null) return chunk.length === bytes ? chunk : undefined
    if (stream.errored) throw stream.errored
    if (stream.readableEnded || stream.destroyed) return undefined
    const settled = new AbortController()
    try {
      // An error rejects either of them.
      await Promise.race([
        once(stream, 'readable', { signal: settled.signal }),
        once(stream, 'end', { signal: settled.signal }),
        once(stream, 'close', { signal: settled.signal }),
      ])
    } finally {
      settled.abort()
    }
  }
}
