import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { Action } from '../frame/command.ts'
import { failureLine } from '../frame/failure.ts'
import { failureOf } from '../frame/failure-of.ts'

/** JSON-RPC's range of codes for errors of servers. */
const SERVER_ERROR = -32_000

type RequestId = string | number

/**
 * Passes the messages of an agent on the standard input to `/mcp` of the server, and the answers back. The server has the
 * tools, so a bridge of any version has those of the server.
 */
export const run: Action = async (cli) => {
  // A missing credential ends the program, which agents show, instead of every call.
  await cli.api()
  const remote = new StreamableHTTPClientTransport(new URL(`${cli.baseUrl}/mcp`), {
    authProvider: { token: async () => cli.bearer() },
  })
  const agent = new StdioServerTransport(cli.streams.stdin, cli.streams.stdout)
  const running = new Map<RequestId, AbortController>()
  let handshake: RequestId | null = null

  // The transports have no other way to listen.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  remote.onmessage = (message) => {
    if (!('method' in message) && message.id !== undefined) {
      running.delete(message.id)
      if (message.id === handshake && 'result' in message) {
        const { protocolVersion } = message.result
        if (typeof protocolVersion === 'string') remote.setProtocolVersion(protocolVersion)
      }
    }
    void agent.send(message)
  }
  const refuse = async (id: RequestId, error: unknown) => {
    if (!running.delete(id)) return
    await agent.send({ jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message: failureLine(failureOf(error)) } })
  }
  const pass = async (message: JSONRPCMessage) => {
    if (!('method' in message)) return remote.send(message)
    if ('id' in message) {
      const { id, method } = message
      const controller = new AbortController()
      running.set(id, controller)
      if (method === 'initialize') handshake = id
      const onRequestStreamEnd = () => void refuse(id, new Error('the server ended the call without an answer'))
      const options = { requestSignal: controller.signal, onRequestStreamEnd }
      return remote.send(message, options).catch(async (error: unknown) => refuse(id, error))
    }
    if (message.method === 'notifications/cancelled') {
      const id = message.params?.['requestId'] as RequestId
      // The server ends a command whose caller has left.
      running.get(id)?.abort()
      running.delete(id)
    }
    await remote.send(message).catch(() => undefined)
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  agent.onmessage = (message) => void pass(message)

  await remote.start()
  await agent.start()
  await new Promise<void>((resolve) => {
    cli.streams.stdin.once('end', resolve)
    cli.streams.stdin.once('close', resolve)
    cli.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  for (const controller of running.values()) controller.abort()
  await remote.close()
  await agent.close()
}
