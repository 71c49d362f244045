import { codeError, codeResult } from '@offshoot/contract/code'
import { z } from 'zod'

/** Bytes of one line. The guest's server bounds a result to 10 MiB of JSON, which may be escaped once more. */
const MAX_LINE_BYTES = 24 * 1024 * 1024
const NEWLINE = 10

const output = { text: z.string(), timestamp: z.number().optional() }

/** One line of the guest's answer. Unknown fields are dropped; lines of an unknown type are an error. */
const codeLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stdout'), ...output }),
  z.object({ type: z.literal('stderr'), ...output }),
  codeResult.extend({ type: z.literal('result') }),
  codeError.extend({ type: z.literal('error') }),
  z.object({ type: z.literal('number_of_executions'), execution_count: z.int().min(0) }),
  z.object({ type: z.literal('keepalive') }),
  z.object({ type: z.literal('end_of_execution') }),
])
export type CodeLine = z.infer<typeof codeLine>

/** The guest sent something else than its protocol. */
export class InvalidCodeLine extends Error {
  override readonly name = 'InvalidCodeLine'
}

/**
 * The lines of an execution, up to and including `end_of_execution`. Everything comes from a guest, which is not
 * trusted: lines are bounded, and their types are checked. Holds one line and one chunk in memory at a time.
 * @throws InvalidCodeLine also if the stream ends without `end_of_execution`
 */
export async function* parseCodeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CodeLine> {
  for await (const bytes of splitLines(chunks)) {
    if (bytes.length === 0) continue
    const line = parseLine(bytes)
    yield line
    if (line.type === 'end_of_execution') return
  }
  throw new InvalidCodeLine('the answer ended before end_of_execution')
}

async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = []
  let held = 0
  for await (const chunk of chunks) {
    let rest = chunk
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      const last = rest.subarray(0, end)
      if (held + last.length > MAX_LINE_BYTES) throw new InvalidCodeLine('a line is too long')
      yield Buffer.concat([...parts, last])
      parts = []
      held = 0
      rest = rest.subarray(end + 1)
    }
    held += rest.length
    if (held > MAX_LINE_BYTES) throw new InvalidCodeLine('a line is too long')
    if (rest.length > 0) parts.push(rest)
  }
  if (held > 0) throw new InvalidCodeLine('the last line is cut')
}

function parseLine(bytes: Buffer): CodeLine {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw new InvalidCodeLine('a line is not JSON', { cause: error })
  }
  const line = codeLine.safeParse(value)
  if (!line.success) throw new InvalidCodeLine('a line is not an event', { cause: line.error })
  return line.data
}
