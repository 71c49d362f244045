import { Code, ConnectError } from '@connectrpc/connect'
import { ControlRefused, ControlUnreachable } from '../control/control-failure.ts'
import type { EnvdCall } from './call.ts'
import { SandboxEnded } from './sandbox-ended.ts'

const CODE_OF: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.FailedPrecondition,
  413: Code.InvalidArgument,
  429: Code.ResourceExhausted,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
  507: Code.ResourceExhausted,
}

/** Runs a call, and gives control's errors as errors of the protocol. */
export async function asRpc<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw rpcFailure(error)
  }
}

/** Streams messages. If the sandbox ends, the client's connection breaks off, which its library understands. */
export async function* asRpcStream<T>(call: EnvdCall, messages: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* messages
  } catch (error) {
    if (error instanceof SandboxEnded) await call.drop()
    throw rpcFailure(error)
  }
}

function rpcFailure(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error
  if (error instanceof ControlRefused && error.isUnknownUser)
    return new ConnectError(error.message, Code.Unauthenticated)
  if (error instanceof ControlRefused) return new ConnectError(error.message, CODE_OF[error.status] ?? Code.Internal)
  if (error instanceof ControlUnreachable) return new ConnectError(error.message, Code.Unavailable)
  return ConnectError.from(error)
}
