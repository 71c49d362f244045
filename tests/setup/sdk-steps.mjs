/** What programs do with the SDK, by nothing but web APIs: for every JavaScript engine. */
import { explore, NotFoundError, Offshoot } from '@offshoot/sdk'

function expectEqual(actual, expected) {
  const [shown, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (shown !== wanted) throw new Error(`got ${shown} instead of ${wanted}`)
}

async function commands(sandbox) {
  const { stdout, stderr, exitCode } = await sandbox.exec('echo "$A_B"; echo err >&2; exit 3', { env: { A_B: 'out' } })
  expectEqual([stdout, stderr, exitCode], ['out\n', 'err\n', 3])
  const failed = await sandbox.exec(['false'], { check: true }).catch((error) => error)
  expectEqual([failed.name, failed.result.exitCode], ['CommandFailedError', 1])
}

async function streams(sandbox) {
  const stream = sandbox.exec.stream('for i in 1 2 3; do echo "line $i"; done')
  let shown = ''
  for await (const { data } of stream) shown += data
  expectEqual([shown, (await stream.exit).exitCode], ['line 1\nline 2\nline 3\n', 0])
  const aborter = new AbortController()
  const reason = new Error('enough')
  const options = { signal: aborter.signal, onOutput: () => aborter.abort(reason) }
  expectEqual(await sandbox.exec('echo begun; sleep 777', options).catch((error) => error === reason), true)
  while ((await sandbox.exec('ps')).stdout.includes('sleep 777'));
}

async function background(sandbox) {
  const command = await sandbox.commands.start('cat', { stdinOpen: true })
  await command.write('kept')
  await command.closeStdin()
  expectEqual((await command.wait()).exitCode, 0)
  let output = ''
  for await (const { data } of command.output()) output += data
  expectEqual(output, 'kept')
}

async function terminals(sandbox) {
  const terminal = await sandbox.terminal({ rows: 10, cols: 50 })
  terminal.resize({ rows: 12, cols: 60 })
  terminal.write('stty size; exit 5\n')
  const decoder = new TextDecoder()
  let shown = ''
  for await (const bytes of terminal) shown += decoder.decode(bytes, { stream: true })
  expectEqual([shown.includes('12 60'), await terminal.exit], [true, 5])
}

async function files(sandbox) {
  const bytes = Uint8Array.from({ length: 70_000 }, (_each, i) => i % 251)
  await sandbox.files.write('/data/bytes', bytes)
  expectEqual([...(await sandbox.files.readBytes('/data/bytes', { offset: 250, length: 3 }))], [250, 0, 1])
  const whole = await new Response(await sandbox.files.readStream('/data/bytes')).arrayBuffer()
  expectEqual(whole.byteLength, bytes.length)
  await sandbox.files.write('/data/text', 'ä')
  expectEqual(await sandbox.files.read('/data/text'), 'ä')
  const archive = await new Response(await sandbox.files.download('/data')).arrayBuffer()
  await sandbox.files.upload('/copy', archive)
  expectEqual((await sandbox.files.list('/copy')).map(({ name }) => name).toSorted(), ['bytes', 'text'])
  const missing = await sandbox.files.read('/missing').catch((error) => error)
  expectEqual([missing instanceof NotFoundError, missing.status, typeof missing.requestId], [true, 404, 'string'])
}

async function forks(sandbox) {
  const branches = [1, 2].map((answer) => ({
    name: String(answer),
    run: (fork, signal) => fork.exec(`echo ${answer}`, { signal }),
  }))
  const found = await explore(sandbox, branches, { score: ({ stdout }) => Number(stdout) })
  expectEqual([found.best.name, found.branches.map(({ outcome }) => outcome)], ['2', ['scored', 'scored']])
  await found.best.sandbox.delete()
}

async function events(sandbox) {
  for await (const { type, number } of sandbox.events({ since: 0 })) {
    expectEqual([type, number], ['sandbox.running', 1])
    break
  }
}

const STEPS = { commands, streams, background, terminals, files, forks, events }

/** @returns the names of the steps, all of which went well */
export async function useSdk(options) {
  const client = new Offshoot(options)
  const sandbox = await client.sandboxes.create({ template: 'minimal', metadata: { snake_key: 'kept' } })
  try {
    expectEqual(sandbox.info.metadata, { snake_key: 'kept' })
    for (const [name, step] of Object.entries(STEPS)) {
      await step(sandbox).catch((cause) => {
        throw new Error(`${name}: ${cause.stack ?? cause}`, { cause })
      })
    }
    return Object.keys(STEPS)
  } finally {
    await sandbox.delete()
  }
}
