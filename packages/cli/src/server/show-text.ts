import { ConnectionError } from '@offshoot/sdk'
import type { Cli } from '../frame/cli.ts'

/** Writes a text that the server sends, as it arrives. */
export async function showText(cli: Cli, { body }: Response): Promise<void> {
  if (body === null) return
  try {
    for await (const bytes of body as unknown as AsyncIterable<Uint8Array>) cli.out.raw(bytes)
  } catch (error) {
    cli.signal.throwIfAborted()
    throw new ConnectionError('the connection to the server broke', { cause: error })
  }
}
