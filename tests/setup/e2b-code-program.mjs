/** What users do with E2B's code interpreter in JavaScript. Run it with the path of the client's package. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Sandbox } = require(process.argv[2])

const sandbox = await Sandbox.create({ timeoutMs: 600_000 })
const run = (code, options) => sandbox.runCode(code, { timeoutMs: 120_000, requestTimeoutMs: 120_000, ...options })

async function step(name, check) {
  await check()
  console.log(`passed: ${name}`)
}

await step('state, outputs and the value', async () => {
  assert.equal((await run('x = 20')).error, undefined)
  const seen = []
  const { text, logs, executionCount } = await run('print("out")\nx + 1', { onStdout: ({ line }) => seen.push(line) })
  assert.deepEqual([text, logs.stdout.join(''), seen.join('')], ['21', 'out\n', 'out\n'])
  assert.equal(executionCount, 2)
})

await step('charts and tables', async () => {
  const { results } = await run('import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.show()')
  assert.equal(Buffer.from(results[0].png, 'base64').subarray(1, 4).toString(), 'PNG')
  const table = await run('import pandas as pd\npd.DataFrame({"a": [1, 2]})')
  assert.match(table.results[0].html, /<table/)
})

await step('errors', async () => {
  const { error } = await run('1 / 0')
  assert.equal(error.name, 'ZeroDivisionError')
  assert.match(error.traceback, /ZeroDivisionError/)
})

await step('code that takes too long is interrupted', async () => {
  await assert.rejects(run('import time; time.sleep(1000)', { timeoutMs: 1000 }), /Execution timed out/)
  assert.equal((await run('1 + 1')).text, '2')
})

await step('contexts', async () => {
  const languages = (await sandbox.listCodeContexts()).map(({ language }) => language)
  assert.deepEqual(languages, ['python', 'javascript'])
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.equal((await run('import os; os.getcwd()', { context })).text, '/tmp')
  assert.equal((await run('x', { context })).error.name, 'NameError')
  assert((await sandbox.listCodeContexts()).some(({ id }) => id === context.id))
  await sandbox.restartCodeContext(context.id)
  await sandbox.removeCodeContext(context.id)
  assert(!(await sandbox.listCodeContexts()).some(({ id }) => id === context.id))
})

await step('other languages', async () => {
  assert.equal((await run('echo $((6 * 7))', { language: 'bash' })).logs.stdout.join(''), '42\n')
  assert.equal((await run('const a = [1, 2]; a.length', { language: 'js' })).text, '2')
})

await step('commands and files beside it', async () => {
  await sandbox.files.write('data.csv', 'a\n5\n')
  assert.equal((await run('int(pd.read_csv("data.csv")["a"][0])')).text, '5')
  assert.equal((await sandbox.commands.run('whoami')).stdout, 'user\n')
})

await step('the end', async () => {
  let begun
  const hasBegun = new Promise((resolve) => (begun = resolve))
  const error = run('print(1)\nimport time; time.sleep(1000)', { onStdout: begun }).then(
    () => assert.fail('it did not fail'),
    (reason) => reason,
  )
  await hasBegun
  assert.equal(await sandbox.kill(), true)
  assert.match((await error).message, /The sandbox was killed while the request was in progress/)
})
