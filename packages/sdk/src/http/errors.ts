/** The body of a refusal: a text for people, sometimes `detail`, and context such as `max` and `active`. */
export interface ErrorBody {
  readonly error: string
  readonly detail?: string | null
  readonly [context: string]: unknown
}

/** What is known about an answer that was a refusal. */
export interface Refusal {
  readonly status: number
  readonly body: ErrorBody
  /** `X-Request-Id` of the answer. The service's logs have the same. */
  readonly requestId: string | null
  /** E.g. `POST /v1/sandboxes`. */
  readonly request: string
}

/** Everything that the SDK throws itself. An aborted call throws the reason of its signal instead. */
export class OffshootError extends Error {
  override readonly name: string = 'OffshootError'
}

/** The service refused a request. Branch on the class or the status: the texts can change. */
export class ApiError extends OffshootError {
  override readonly name: string = 'ApiError'
  readonly status: number
  readonly body: ErrorBody
  readonly requestId: string | null
  readonly request: string

  constructor({ status, body, requestId, request }: Refusal) {
    const detail = body.detail ? `: ${body.detail}` : ''
    super(`${request} answered ${status}: ${body.error}${detail} (request ${requestId ?? 'without an id'})`)
    this.status = status
    this.body = body
    this.requestId = requestId
    this.request = request
  }
}

/** 401 or 403: no credential, an invalid one, or one that may not do this. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError'
}

/** 404: unknown, deleted, or of another workspace. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError'
}

/** Any other 4xx: the request must change before it can succeed. */
export class BadRequestError extends ApiError {
  override readonly name: string = 'BadRequestError'
}

/** 409: the state of the resource does not allow this, for example a name that is taken. */
export class ConflictError extends BadRequestError {
  override readonly name = 'ConflictError'
}

/** 429: a rate limit or a quota. The body says which. */
export class LimitError extends BadRequestError {
  override readonly name = 'LimitError'
}

/** 5xx: the service could not do it. */
export class ServerError extends ApiError {
  override readonly name = 'ServerError'
}

/** The service could not be reached, or a connection broke. `cause` has the reason. */
export class ConnectionError extends OffshootError {
  override readonly name: string = 'ConnectionError'
}

/** The call took longer than its `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError'
}

/** A part of a stream is lost: the service no longer has it. */
export class MissingDataError extends OffshootError {
  override readonly name = 'MissingDataError'
  /** Position of the first lost part, and of the first part after it: bytes of output, or numbers of events. */
  readonly from: number
  readonly to: number

  constructor(what: string, from: number, to: number) {
    super(`${what} ${from} to ${to} are lost: the service no longer has them`)
    this.from = from
    this.to = to
  }
}

const BY_STATUS: Readonly<Record<number, new (refusal: Refusal) => ApiError>> = {
  401: AuthenticationError,
  403: AuthenticationError,
  404: NotFoundError,
  409: ConflictError,
  429: LimitError,
}

/** The error for a refused request. */
export function apiError(refusal: Refusal): ApiError {
  const { status } = refusal
  const Kind = BY_STATUS[status] ?? (status >= 500 ? ServerError : BadRequestError)
  return new Kind(refusal)
}
