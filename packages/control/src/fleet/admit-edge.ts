import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyRequest } from 'fastify'
import { jwtVerify } from 'jose'
import type { FleetContext } from './fleet-context.ts'
import { bearerToken } from '../platform/http/bearer-token.ts'

/** Seconds by which the clocks of two hosts may differ. */
const CLOCK_TOLERANCE_SECONDS = 5

/** @throws ApiError 404 without an edge's credential, so that other callers do not learn that the route exists */
export async function admitEdge({ config }: FleetContext, request: FastifyRequest): Promise<void> {
  if (config.edge_secret === undefined) throw new ApiError('notFound')
  const key = Buffer.from(config.edge_secret, 'base64')
  const options = { algorithms: ['HS256'], requiredClaims: ['exp'], clockTolerance: CLOCK_TOLERANCE_SECONDS }
  try {
    const { protectedHeader } = await jwtVerify(bearerToken(request), key, options)
    if (protectedHeader.kid !== EDGE_KEY_ID) throw new Error('signed for somebody else')
  } catch (error) {
    throw new ApiError('notFound', {}, { cause: error })
  }
}
