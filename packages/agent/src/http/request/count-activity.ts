import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { ownSandbox } from './require-credential.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route only inspects a sandbox: a request does not reset the sandbox's idle timer. */
    isStatus?: boolean
  }
}

const OF_A_SANDBOX = '/v1/sandboxes/:id/'

/**
 * Counts each request to a sandbox as activity until its response ends, including streams and upgraded connections. While
 * there is activity, the idle timeout does not hibernate a persistent sandbox. Routes with `isStatus` do not count.
 */
export function countActivity(server: FastifyInstance, { host }: Agent): void {
  server.addHook('onRequest', async (request, reply) => {
    const { url, config } = request.routeOptions
    if (url === undefined || !url.startsWith(OF_A_SANDBOX) || config.isStatus) return
    const activity = ownSandbox(host.sandboxes, request)?.activity
    if (activity === undefined) return
    const end = activity.begin()
    // After an upgrade the response never closes: the end of the socket is the end of the request.
    const { socket } = request.raw
    if (upgradeOf(request.raw) === undefined) reply.raw.once('close', end)
    else socket.once('close', end)
    if (socket.destroyed) end()
  })
}
