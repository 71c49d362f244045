import { ConnectionError, Offshoot } from '@offshoot/sdk'

/** Milliseconds for a plain request. Creates of databases take up to 90 s. */
const ANSWER_MS = 150_000
/** Attempts after the first of a request that the server refused for the moment. */
const RETRIES = 4
/** Errors of connections that were made, and broke. */
const BROKEN: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET'])

/** No connection to the server could be made. */
export class UnreachableError extends ConnectionError {
  override readonly name = 'UnreachableError'
}

/**
 * The API of one server in the name of one credential.
 * @param credential the bearer token; asked for with each request, because tokens expire
 * @param workspace the one in which a user acts; default: the user's own choice on the server
 */
export function clientOf(baseUrl: string, credential: () => Promise<string>, workspace?: string): Offshoot {
  return new Offshoot({
    baseUrl,
    jwt: credential,
    ...(workspace !== undefined && { org: workspace }),
    timeoutMs: ANSWER_MS,
    maxRetries: RETRIES,
    headers: { 'user-agent': 'offshoot-cli' },
    fetch: async (input, init) => reach(baseUrl, fetch(input, init)),
  })
}

/** A person waits for the answer and may have mistyped the address, so an unreachable server is not asked again. */
export async function reach(baseUrl: string, answer: Promise<Response>): Promise<Response> {
  try {
    return await answer
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown } }
    // An aborted request has no cause.
    throw cause === undefined || BROKEN.has(cause.code) ? error : unreachable(baseUrl, error)
  }
}

export function unreachable(baseUrl: string, cause: unknown): UnreachableError {
  return new UnreachableError(`${baseUrl} cannot be reached`, { cause })
}
