import { ACME_CHALLENGE, EDGE_ACME_PATH, edgeAcmeAnswer } from '@offshoot/contract/edge-app'
import { nameOfHost } from '@offshoot/contract/preview-address'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { REQUEST_ID, requestIdOf } from '../http/request-id.ts'
import { hostOf, type VisitorRequest, type VisitorResponse } from '../http/visitor.ts'
import type { AppLocations } from './app-locations.ts'
import { askControl } from './ask-control.ts'

/** Concurrent queries to control. Further challenge requests go to the app. */
const MAX_QUESTIONS = 32

export interface AcmeAnswersOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
  readonly locations: AppLocations
  /** Name of the API. If control orders a certificate for it, port 80 of the name may lead here. */
  readonly apiName: string | null
}

/** Answers the ACME authority when it validates an order of control for an app's domain or for the API's own name. */
export class AcmeAnswers {
  readonly #options: AcmeAnswersOptions
  #questions = 0

  constructor(options: AcmeAnswersOptions) {
    this.#options = options
  }

  /**
   * Returns false unless it takes the request. An app may also run ACME itself, so tokens that control does not know go
   * to the app.
   * @param orElse serves the request from the app
   */
  handle(request: VisitorRequest, response: VisitorResponse, orElse: () => void): boolean {
    const token = ACME_CHALLENGE.exec(request.url ?? '')?.[1]
    if (token === undefined || request.method !== 'GET' || this.#questions >= MAX_QUESTIONS) return false
    const domain = nameOfHost(hostOf(request) ?? '')
    const { locations, apiName } = this.#options
    if (domain !== apiName && locations.findDomain(domain) === undefined) return false
    void this.#answer(request, response, { domain, token }, orElse)
    return true
  }

  async #answer(
    request: VisitorRequest,
    response: VisitorResponse,
    { domain, token }: { readonly domain: string; readonly token: string },
    orElse: () => void,
  ): Promise<void> {
    this.#questions += 1
    const answer = await this.#find(domain, token).catch(() => null)
    this.#questions -= 1
    if (answer === null) orElse()
    else send(request, response, answer)
  }

  async #find(domain: string, token: string): Promise<string | null> {
    const { controlUrl, credential } = this.#options
    const body = await askControl(`${controlUrl}${EDGE_ACME_PATH}/${domain}/${token}`, credential)
    return body === null ? null : edgeAcmeAnswer.parse(body).answer
  }
}

function send(request: VisitorRequest, response: VisitorResponse, answer: string): void {
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': Buffer.byteLength(answer),
    [REQUEST_ID]: requestIdOf(request),
  })
  response.end(answer)
}
