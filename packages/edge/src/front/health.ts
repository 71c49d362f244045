import { refusals, sendRefusal } from '../http/refusal.ts'
import { REQUEST_ID, requestIdOf } from '../http/request-id.ts'
import { hostOf, type VisitorRequest, type VisitorResponse } from '../http/visitor.ts'

const OK = JSON.stringify({ status: 'ok' })

/** Requests to the edge's own host, for health checks only. */
export function answerHealth(request: VisitorRequest, response: VisitorResponse): void {
  if (hostOf(request) === null) {
    sendRefusal(request, response, refusals.badRequest('the request must name one host'))
  } else if (request.url === '/healthz' && request.method === 'GET') {
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': OK.length,
      [REQUEST_ID]: requestIdOf(request),
    })
    response.end(OK)
  } else {
    sendRefusal(request, response, refusals.unknownHost())
  }
}
