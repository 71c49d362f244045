import type { FollowOptions, ServerEvent } from '@offshoot/sdk'
import type { Cli } from './cli.ts'

/** Connections in a row that bring nothing, which takes about five minutes. */
const MAX_FRUITLESS = 50
/** Milliseconds without a connection after which the user is told. */
const NOTE_AFTER_MS = 2_000

/**
 * Follows a stream of events until it is over or the user leaves, and tells the user about a lost connection. The SDK
 * continues after the last event that arrived, so that no event is missing or comes twice.
 * @param open calls `follow` of the SDK with these options
 */
export async function* follow(
  cli: Cli,
  open: (options: FollowOptions & { readonly signal: AbortSignal }) => AsyncGenerator<ServerEvent>,
): AsyncGenerator<ServerEvent, void, undefined> {
  let lostAt: number | null = null
  let isNoted = false
  const onConnection = (isOpen: boolean) => {
    if (isOpen) {
      if (isNoted) cli.out.note('offshoot: connected again')
      lostAt = null
      isNoted = false
      return
    }
    lostAt ??= Date.now()
    if (isNoted || Date.now() - lostAt < NOTE_AFTER_MS) return
    cli.out.note('offshoot: the connection is lost, trying again')
    isNoted = true
  }
  try {
    yield* open({ maxFruitless: MAX_FRUITLESS, onConnection, signal: cli.signal })
  } catch (error) {
    if (!cli.signal.aborted) throw error
  }
}
