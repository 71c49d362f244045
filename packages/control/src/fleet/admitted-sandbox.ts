import type { FastifyRequest } from 'fastify'
import type { SandboxLocation } from './sandbox-locations.ts'
import type { SandboxRow } from './sandbox-row.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The sandbox in the path, if the route loads it: as its row or only as its location. */
    admittedSandbox: SandboxRow | null
    admittedLocation: SandboxLocation | null
  }
}

export function sandboxOf(request: FastifyRequest): SandboxRow {
  const sandbox = request.admittedSandbox
  if (sandbox === null) throw new Error('route loads no sandbox, yet asks for it')
  return sandbox
}

export function locationOf(request: FastifyRequest): SandboxLocation {
  const location = request.admittedLocation
  if (location === null) throw new Error('route loads no location, yet asks for it')
  return location
}
