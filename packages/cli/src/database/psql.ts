import { spawn } from 'node:child_process'
import type { Database } from '@offshoot/contract/database'
import { type Action, operand } from '../frame/command.ts'
import { EXIT, Failure } from '../frame/failure.ts'
import { readDatabase } from './show.ts'

const ignore = () => undefined

/** Ends with the exit code of psql. */
export const run: Action = async (cli, line) => {
  const text = operand(line, 0)
  const env = environmentOf(cli.env, await readDatabase(cli, text))
  // psql cancels a query at Ctrl-C and goes on, so this program must not end before it.
  const handlers = process.listeners('SIGINT')
  process.removeAllListeners('SIGINT')
  process.on('SIGINT', ignore)
  try {
    const psql = spawn('psql', line.operands.slice(1), { env, cwd: cli.cwd, stdio: 'inherit' })
    cli.signal.addEventListener('abort', () => psql.kill(), { once: true })
    return await new Promise<number>((resolve, reject) => {
      psql.once('error', (error: NodeJS.ErrnoException) =>
        reject(error.code === 'ENOENT' ? absent(text, error) : error),
      )
      psql.once('close', (code) => resolve(code ?? EXIT.interrupted))
    })
  } finally {
    process.off('SIGINT', ignore)
    for (const handler of handlers) process.on('SIGINT', handler)
  }
}

/** Other users see arguments of programs, so psql gets everything in its environment. */
function environmentOf(env: NodeJS.ProcessEnv, database: Database): NodeJS.ProcessEnv {
  const { host, port, username, password, database: name, connection_url: url } = database
  // Both take the place of the host.
  const { PGSERVICE: _service, PGHOSTADDR: _address, ...rest } = env
  return {
    ...rest,
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: username,
    PGPASSWORD: password,
    PGDATABASE: name,
    PGSSLMODE: env['PGSSLMODE'] || (new URL(url).searchParams.get('sslmode') ?? 'require'),
  }
}

function absent(text: string, cause: Error): Failure {
  return new Failure('psql is not installed on this machine', {
    next: `install it (Debian and Ubuntu: postgresql-client, macOS: libpq), or use offshoot db query ${text} SQL`,
    cause,
  })
}
