import { run } from './run.ts'

/** The program itself; `bin/offshoot.mjs` starts it. */

const interrupted = new AbortController()
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

for (const [signal, code] of Object.entries(SIGNALS))
  process.on(signal, () => {
    // A second signal does not wait for the command to clean up.
    if (interrupted.signal.aborted) process.exit(code)
    interrupted.abort(new Error(signal))
  })

// The reader of a pipe left, as in `offshoot sandbox ls | head -1`.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const { env, stdin, stdout, stderr } = process
process.exit(await run(process.argv.slice(2), { env, cwd: process.cwd(), stdin, stdout, stderr }, interrupted.signal))
