import { upgradeOf } from '@offshoot/kit/http-upgrades'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../../sandbox/agent.ts'
import { ownSandbox } from './require-credential.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Looks at a sandbox from outside: no activity. */
    isStatus?: boolean
  }
}

const OF_A_SANDBOX = '/v1/sandboxes/:id/'

/**
 * Whatever is asked of a sandbox is activity from the request to the end of its answer, streams and upgraded connections
 * included, unless its route says `isStatus`: what keeps a persistent sandbox from hibernating.
 */
export function countActivity(server: FastifyInstance, { host }: Agent): void {
  server.addHook('onRequest', async (request, reply) => {
    const { url, config } = request.routeOptions
    if (url === undefined || !url.startsWith(OF_A_SANDBOX) || config.isStatus) return
    const activity = ownSandbox(host.sandboxes, request)?.activity
    if (activity === undefined) return
    const end = activity.begin()
    // An upgraded connection leaves its response behind.
    const { socket } = request.raw
    if (upgradeOf(request.raw) === undefined) reply.raw.once('close', end)
    else socket.once('close', end)
    if (socket.destroyed) end()
  })
}
