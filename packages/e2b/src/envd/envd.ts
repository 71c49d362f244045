import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createContextValues } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import type { SandboxId } from '@offshoot/contract/ids'
import type { GatewayContext } from '../base/context.ts'
import { Filesystem } from '../generated/filesystem/filesystem_pb.js'
import { Process } from '../generated/process/process_pb.js'
import { CALL, EnvdCall } from './call.ts'
import { readFile, writeFiles } from './files.ts'
import { filesystemService } from './filesystem-service.ts'
import { answerError, answerFailure } from './http-answer.ts'
import { processService } from './process-service.ts'
import { RecentWrites } from './recent-writes.ts'
import { verifySignature } from './signature.ts'
import { Watchers } from './watchers.ts'

/** What E2B's service inside each sandbox does. The gateway does it with control's API, and guests run nothing for it. */
export class Envd {
  readonly #context: GatewayContext
  readonly #watchers = new Watchers()
  readonly #writes = new RecentWrites()
  readonly #calls = new WeakMap<object, EnvdCall>()
  readonly #services: RequestListener

  constructor(context: GatewayContext) {
    this.#context = context
    this.#services = connectNodeAdapter({
      routes: (router) =>
        router.service(Process, processService).service(Filesystem, filesystemService(this.#watchers)),
      contextValues: (request) => createContextValues().set(CALL, this.#calls.get(request) ?? null),
      grpc: false,
      grpcWeb: false,
      fallback: (_request, response) => answerError(response as ServerResponse, 404, 'not found'),
    })
  }

  /** Answers a request for a sandbox that runs. */
  async handle(id: SandboxId, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://sandbox')
    if (url.pathname === '/health') return void response.writeHead(204).end()
    const signature = signatureOf(url, request, this.#context.access.tokenOf(id))
    const call = this.admit(id, request, response, signature)
    if (call === null) return
    if (url.pathname !== '/files') {
      this.#calls.set(request, call)
      return this.#services(request, response)
    }
    try {
      if (request.method === 'GET' || request.method === 'HEAD') await readFile(call, url, request, response)
      else if (request.method === 'POST') await writeFiles(call, url, request, response)
      else answerError(response, 405, 'method not allowed')
    } catch (error) {
      answerFailure(response, error)
    }
  }

  /** `null` after a 401: the request has neither the sandbox's access token nor a signature. */
  admit(
    id: SandboxId,
    { headers }: IncomingMessage,
    response: ServerResponse,
    signature: Signature = 'none',
  ): EnvdCall | null {
    const { access, control } = this.#context
    const token = access.tokenOf(id)
    const isToken = [headers['x-access-token'], headers['e2b-traffic-access-token']].includes(token)
    if (isToken || signature === 'valid') return new EnvdCall({ control, writes: this.#writes }, id, token, response)
    answerError(response, 401, REFUSALS[signature])
    return null
  }

  close(): void {
    this.#watchers.closeAll()
  }
}

type Signature = ReturnType<typeof verifySignature> | 'none'

const REFUSALS: Readonly<Record<Exclude<Signature, 'valid'>, string>> = {
  none: 'access token required',
  invalid: 'invalid signature',
  // Users of E2B's clients compare this text.
  expired: 'signature is already expired',
}

function signatureOf({ pathname, searchParams: query }: URL, { method }: IncomingMessage, token: string): Signature {
  if (pathname !== '/files' || !query.has('signature')) return 'none'
  const operation = method === 'POST' ? 'write' : 'read'
  const [path, user] = [query.get('path') ?? '', query.get('username') ?? '']
  return verifySignature({ path, operation, user, token }, query, Date.now())
}
