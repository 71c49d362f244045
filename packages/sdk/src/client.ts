import { follow, type FollowOptions } from './http/follow.ts'
import {
  type AnyInput,
  type QueryOptions,
  requestTo,
  type Route,
  type RouteAnswer,
  type RouteArguments,
  type RouteEvent,
  type RouteInput,
  type StreamedEvent,
  streamEvents,
} from './http/routes.ts'
import type { ServerEvent } from './http/server-events.ts'
import { List } from './http/list.ts'
import { Scope } from './http/scope.ts'
import { type CallOptions, type ClientOptions, Transport } from './http/transport.ts'
import type { Change, Me, Usage, WorkspaceEvent } from './generated/models.ts'
import { Apps } from './resources/apps.ts'
import { type ChangesOptions, followChanges } from './resources/changes.ts'
import { Databases } from './resources/databases.ts'
import { followEvents, listEvents, type WorkspaceEventsOptions } from './resources/events.ts'
import { Keys, Ssh } from './resources/keys.ts'
import { Snapshots } from './resources/snapshots.ts'
import { Templates } from './resources/templates.ts'
import { Volumes } from './resources/volumes.ts'
import { Webhooks } from './resources/webhooks.ts'
import { Workspaces } from './resources/workspaces.ts'
import { type CreateSandboxOptions, type Sandbox, Sandboxes } from './sandboxes/sandbox.ts'

type FollowArguments<R extends Route> =
  {} extends RouteInput<R> ? [input?: RouteInput<R> & FollowOptions] : [input: RouteInput<R> & FollowOptions]

/** The types of a route's input are checked where it is passed to the client. */
const anyRequest = (route: Route, input: unknown) => requestTo(route, input as AnyInput | undefined)

const isDone = ({ event }: ServerEvent) => event === 'done'

/** A client of one service, for one credential. It keeps no connection, so it need not be closed. */
export class Offshoot {
  readonly sandboxes: Sandboxes
  readonly databases: Databases
  readonly volumes: Volumes
  readonly templates: Templates
  readonly apps: Apps
  readonly snapshots: Snapshots
  readonly webhooks: Webhooks
  readonly keys: Keys
  readonly ssh: Ssh
  readonly workspaces: Workspaces
  readonly #transport: Transport
  readonly #scope: Scope

  constructor(options: ClientOptions = {}) {
    const transport = new Transport(options)
    this.#transport = transport
    this.#scope = new Scope(transport)
    this.sandboxes = new Sandboxes(transport)
    this.databases = new Databases(transport)
    this.volumes = new Volumes(transport)
    this.templates = new Templates(transport)
    this.apps = new Apps(transport)
    this.snapshots = new Snapshots(transport)
    this.webhooks = new Webhooks(transport)
    this.keys = new Keys(transport)
    this.ssh = new Ssh(transport)
    this.workspaces = new Workspaces(transport)
  }

  /** Makes a sandbox with the service and the key that the environment names. */
  static async create(options: CreateSandboxOptions & { readonly client?: ClientOptions } = {}): Promise<Sandbox> {
    const { client = {}, ...rest } = options
    return new Offshoot(client).sandboxes.create(rest)
  }

  get baseUrl(): string {
    return this.#transport.baseUrl
  }

  /** The user and the workspace of the credential. @throws AuthenticationError without a valid credential */
  async me(options: CallOptions = {}): Promise<Me> {
    return this.#scope.get('GET /v1/me', options)
  }

  /** What the workspace has used, in seconds and money. */
  async usage(options: QueryOptions<'GET /v1/usage'> = {}): Promise<Usage> {
    return this.#scope.get('GET /v1/usage', options)
  }

  /**
   * What happens in the workspace, as it happens, forever: leave the loop or abort the `signal`. `since` continues after
   * the id of an event or a time; without it, and without `tail`, the last 100 events come first. A broken connection is
   * continued without a gap or a repetition.
   * @throws BadRequestError if the service does not know the event `since`
   */
  events(options: WorkspaceEventsOptions = {}): AsyncGenerator<WorkspaceEvent, void, undefined> {
    return followEvents(this.#scope, options)
  }

  /**
   * Which objects of the workspace change, as they change, forever: leave the loop or abort the `signal`. It says
   * `everything` at the beginning, after each reconnect, and when changes may have been missed: read again what you show.
   *
   *     for await (const change of client.changes()) console.log(change === 'everything' ? change : change.kind)
   *
   * @throws ConnectionError if several attempts in a row fail
   */
  changes(options: ChangesOptions = {}): AsyncGenerator<Change | 'everything', void, undefined> {
    return followChanges(this.#scope, options)
  }

  /** The events of 90 days, newest first; with `since` or `tail` in the order of their arrival. */
  pastEvents(options: WorkspaceEventsOptions & { readonly limit?: number } = {}): List<WorkspaceEvent> {
    return listEvents(this.#scope, options)
  }

  /**
   * Sends a request to any route of the API, with its own names (snake_case), and returns the JSON that it answers:
   *
   *     const templates = await client.request('GET /v1/templates', { query: { is_global: true } })
   *
   * @throws ApiError, ConnectionError, or the reason of an aborted signal
   */
  async request<R extends Route>(route: R, ...[input]: RouteArguments<R>): Promise<RouteAnswer<R>> {
    return this.#transport.json(anyRequest(route, input))
  }

  /** The same for answers that are not JSON. Read or cancel the body of the response. */
  async fetch<R extends Route>(route: R, ...[input]: RouteArguments<R>): Promise<Response> {
    return this.#transport.send(anyRequest(route, input))
  }

  /** Yields the entries of all pages of a list, with the names of the API. */
  list<R extends Route>(
    route: R,
    ...[input]: RouteArguments<R>
  ): List<RouteAnswer<R> extends readonly (infer T)[] ? T : never> {
    return new List(this.#transport, anyRequest(route, input), (entry) => entry as never)
  }

  /** Yields the events of a stream. A broken connection throws; {@link Offshoot.follow} continues instead. */
  stream<R extends Route>(route: R, ...[input]: RouteArguments<R>): AsyncGenerator<StreamedEvent<RouteEvent<R>>> {
    return streamEvents(this.#transport, anyRequest(route, input))
  }

  /**
   * Yields the events of a stream that has positions, such as logs and events, and continues after a broken connection.
   * The data is text: JSON, or a line of a log. An event `done` ends the stream.
   */
  follow<R extends Route>(
    route: R,
    ...[input]: FollowArguments<R>
  ): AsyncGenerator<{ readonly event: string; readonly data: string; readonly id: string | null }> {
    const { maxFruitless, onConnection, ...request } = (input ?? {}) as AnyInput & FollowOptions
    return follow(this.#transport, anyRequest(route, request), { isLast: isDone, maxFruitless, onConnection })
  }

  /**
   * Waits until the client has deleted what creates made that ended without an answer, for example by their `signal`. It
   * takes a minute at most. Call it before `process.exit`.
   */
  async settled(): Promise<void> {
    await this.#transport.undoing.settled()
  }

  /** The address of a route for a WebSocket or a browser, with the credential in it: keep it out of logs. */
  async authorizedUrl<R extends Route>(route: R, ...[input]: RouteArguments<R>): Promise<string> {
    const { path, query } = anyRequest(route, input)
    return this.#transport.url(path, { ...query, access_token: await this.#transport.credential() })
  }
}
