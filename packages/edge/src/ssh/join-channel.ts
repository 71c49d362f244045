import type { Socket } from 'node:net'
import type { ServerChannel } from 'ssh2'
import { ChannelWriter } from './channel-writer.ts'
import type { ClientSocket } from './client-socket.ts'

/** Joins a channel with a connection. Each direction ends by itself, and each has backpressure. */
export async function joinChannel(channel: ServerChannel, client: ClientSocket, connection: Socket): Promise<void> {
  const writer = new ChannelWriter(channel, client)
  const toConnection = Promise.withResolvers<void>()
  connection.on('error', () => connection.destroy())
  connection.once('close', toConnection.resolve)
  connection.once('finish', toConnection.resolve)
  channel.once('close', () => connection.destroy())
  const forget = client.onClose(() => connection.destroy())
  channel.pipe(connection)
  try {
    for await (const chunk of connection) if (!(await writer.write(chunk as Buffer))) break
    eof(channel)
    await toConnection.promise
  } catch {
    // A reset: the channel is closed below.
  }
  forget()
  connection.destroy()
  channel.close()
}

/** Ends the gateway's half of a channel. `end()` of the library would close the channel. */
function eof(channel: ServerChannel): void {
  ;(channel as unknown as { eof(): void }).eof()
}
