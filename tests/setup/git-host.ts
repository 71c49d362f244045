/** A git hosting provider as seen by `git clone`: repositories over smart HTTP, served by git's own http-backend. */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const BACKEND = '/usr/lib/git-core/git-http-backend'
const run = promisify(execFile)
const AUTHOR = {
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
}

/** An address of this machine that the network rules can open to guests. */
export function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal)
  if (found === undefined) throw new Error('this machine has no address but its loopback')
  return found.address
}

export class GitHost {
  readonly address = ownAddress()
  readonly #server: Server
  readonly #folder: string
  /** Checks the password of a repository. A repository without an entry is public. */
  readonly #doors = new Map<string, (password: string) => boolean>()
  /** Paths of all requests, in order. */
  readonly requests: string[] = []
  /** Called first for each request; returns whether it has answered. */
  onRequest: (request: IncomingMessage, response: ServerResponse) => boolean = () => false

  private constructor(folder: string) {
    this.#folder = folder
    this.#server = createServer((request, response) => this.#serve(request, response))
  }

  /** @param port any free one by default */
  static async start(port = 0): Promise<GitHost> {
    const host = new GitHost(await mkdtemp(join(tmpdir(), 'offshoot-git-')))
    await new Promise<void>((resolve) => host.#server.listen(port, '0.0.0.0', resolve))
    return host
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The operator's setting that lets guests reach this server. */
  get exception(): string {
    return `${this.address}/32:${this.port}`
  }

  get url(): string {
    return `http://${this.address}:${this.port}`
  }

  /** @param name may contain the account, as in `people/site` */
  urlOf(name: string): string {
    return `${this.url}/${name}.git`
  }

  /** Commits exactly these files, and returns the commit. */
  async commit(
    name: string,
    files: Record<string, string>,
    { branch = 'main', before }: { branch?: string; before?: (folder: string) => Promise<void> } = {},
  ): Promise<string> {
    const bare = join(this.#folder, `${name}.git`)
    const work = join(this.#folder, `${name}.work`)
    await mkdir(work, { recursive: true })
    const git = async (...args: string[]) => {
      const { stdout } = await run('git', ['-C', work, ...args], { env: { ...process.env, ...AUTHOR } })
      return stdout.trim()
    }
    await git('init', '-q', '-b', 'main')
    await run('git', ['init', '-q', '--bare', '-b', 'main', bare])
    await git('checkout', '-q', '-B', branch)
    await git('rm', '-rfq', '--ignore-unmatch', '.')
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(work, path)), { recursive: true })
      await writeFile(join(work, path), text)
    }
    await before?.(work)
    await git('add', '-A')
    await git('commit', '-q', '--allow-empty', '-m', `files of ${name}`)
    await git('push', '-qf', bare, branch)
    return git('rev-parse', 'HEAD')
  }

  /** Makes the repository private: it requires a password, with any user name. */
  protect(name: string, opens: (password: string) => boolean): void {
    this.#doors.set(name, opens)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await rm(this.#folder, { recursive: true, force: true })
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const [path = '/', query = ''] = (request.url ?? '/').split('?')
    this.requests.push(path)
    if (this.onRequest(request, response)) return
    const name = /^\/([\w/-]+)\.git\//.exec(path)?.[1] ?? ''
    const opens = this.#doors.get(name)
    if (opens !== undefined && !opens(passwordOf(request))) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    const child = spawn(BACKEND, {
      env: {
        GIT_PROJECT_ROOT: this.#folder,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: (request.headers['git-protocol'] as string | undefined) ?? '',
        REMOTE_ADDR: '127.0.0.1',
      },
    })
    request.pipe(child.stdin).on('error', () => undefined)
    answer(child.stdout, response).catch(() => response.destroy())
  }
}

/** The password in `Authorization: Basic`; empty without one. */
function passwordOf({ headers }: IncomingMessage): string {
  const [, encoded = ''] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? []
  const text = Buffer.from(encoded, 'base64').toString()
  return text.slice(text.indexOf(':') + 1)
}

/** Turns the output of a CGI program into an answer (RFC 3875, 6). */
async function answer(output: NodeJS.ReadableStream, response: ServerResponse): Promise<void> {
  let head = Buffer.alloc(0)
  let hasHead = false
  for await (const chunk of output as AsyncIterable<Buffer>) {
    if (hasHead) {
      response.write(chunk)
      continue
    }
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) continue
    hasHead = true
    const lines = head.subarray(0, end).toString().split('\r\n')
    for (const line of lines) {
      const colon = line.indexOf(':')
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()]
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.write(head.subarray(end + 4))
  }
  response.end()
}
