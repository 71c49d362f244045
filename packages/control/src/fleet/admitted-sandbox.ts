import type { FastifyRequest } from 'fastify'
import type { SandboxPlace } from './sandbox-places.ts'
import type { SandboxRow } from './sandbox-row.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The sandbox in the path, if the route loads it: as its row or only as its place. */
    admittedSandbox: SandboxRow | null
    admittedPlace: SandboxPlace | null
  }
}

export function sandboxOf(request: FastifyRequest): SandboxRow {
  const sandbox = request.admittedSandbox
  if (sandbox === null) throw new Error('route loads no sandbox, yet asks for it')
  return sandbox
}

export function placeOf(request: FastifyRequest): SandboxPlace {
  const place = request.admittedPlace
  if (place === null) throw new Error('route loads no place, yet asks for it')
  return place
}
