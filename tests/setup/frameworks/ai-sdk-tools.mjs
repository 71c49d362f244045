/** An agent of the AI SDK with the tools of `@offshoot/sdk/ai`. Prints each step that went well. */
import assert from 'node:assert/strict'
import { sandboxTools } from '@offshoot/sdk/ai'
import { Offshoot } from '@offshoot/sdk'
import { generateText, isStepCount } from 'ai'
import { startChatModel } from './chat-model.mjs'
import { errorOf, step, until } from './steps.mjs'

const TEST = `[ "$(sh /work/add.sh 2 3)" = 5 ] || { echo "2 + 3 is not $(sh /work/add.sh 2 3)" >&2; exit 1; }`
const WRITE = (line) => `echo '${line}' > /work/add.sh`
const PATCHES = ['echo $(($1 - $2))', 'echo $(($1 + $2))', 'exit 7'].map(WRITE)

const TURNS = [
  () => [['runCommand', { command: 'sh /work/test.sh' }]],
  () => [
    ['writeFile', { path: '/work/long', content: 'ä'.repeat(60) }],
    ['runCommand', { command: 'cat; yes | head -c 300', stdin: 'in' }],
  ],
  () => [
    ['readFile', { path: '/work/long' }],
    ['readFile', { path: '/work/long', offset: 100 }],
    ['listFolder', { path: '/work' }],
    ['readFile', { path: '/missing' }],
    ['readFile', { path: 'relative' }],
  ],
  () => [['tryCommands', { commands: PATCHES, check: 'sh /work/test.sh' }]],
  ({ answers }) => [['runCommand', { command: JSON.parse(answers.at(-1)).find(({ succeeded }) => succeeded).command }]],
  () => [['runCode', { code: 'x = 6\nx * 7', language: 'python' }]],
  () => [['runCommand', { command: 'sh /work/test.sh; echo begun; sleep 778' }]],
  ({ answers }) => `done: ${answers.length}`,
]

const { model, asked, close } = await startChatModel(TURNS)

const client = new Offshoot()
const sandbox = await client.sandboxes.create({ template: 'code-interpreter' })
await sandbox.files.write('/work/add.sh', 'echo 0')
await sandbox.files.write('/work/test.sh', TEST)
const tools = sandboxTools(sandbox, { maxChars: 101, timeoutSeconds: 60 })

await step('an agent repairs a program by trying patches in forks', async () => {
  const { runCommand } = sandboxTools(sandbox, { maxChars: 101, timeoutSeconds: 8 })
  const impatient = { ...tools, runCommand }
  const { text, steps } = await generateText({
    model,
    tools: impatient,
    prompt: 'repair it',
    stopWhen: isStepCount(20),
  })
  assert.equal(text, 'done: 12')
  const results = steps.flatMap(({ content }) => content.filter(({ type }) => type.startsWith('tool-')))
  const output = results.filter(({ type }) => type === 'tool-result').map((each) => each.output)
  const [failed, written, long, first, rest, listed, attempts, patched, code, late] = output
  assert.deepEqual([failed.exitCode, failed.stderr], [1, '2 + 3 is not 0\n'])
  assert.deepEqual(written, { bytes: 120 })
  assert.deepEqual([long.stdout.length, long.droppedChars, long.exitCode], [101, 201, 0])
  assert.deepEqual(first, { content: 'ä'.repeat(50), fileBytes: 120, nextOffset: 100 })
  assert.deepEqual(rest, { content: 'ä'.repeat(10), fileBytes: 120, nextOffset: null })
  assert.deepEqual(
    listed.map(({ name, isFolder }) => [name, isFolder]),
    [
      ['add.sh', false],
      ['long', false],
      ['test.sh', false],
    ],
  )
  assert.deepEqual(
    attempts.map(({ command, succeeded, exitCode }) => [command, succeeded, exitCode]),
    [
      [PATCHES[0], false, 1],
      [PATCHES[1], true, 0],
      [PATCHES[2], false, 1],
    ],
  )
  assert.equal(patched.exitCode, 0)
  assert.deepEqual([code.result, code.error], ['42', null])
  assert.deepEqual([late.exitCode, late.stdout], [null, 'begun\n'])
  const errors = results.filter(({ type }) => type === 'tool-error').map(({ error }) => String(error))
  assert.equal(errors.length, 2)
  assert.match(errors.join('\n'), /answered 404/)
  assert.match(errors.join('\n'), /Invalid input for tool readFile/)
  assert.equal(await sandbox.files.read('/work/add.sh'), 'echo $(($1 + $2))\n')
  const all = await client.sandboxes.list().all()
  assert(!all.some(({ info }) => info.parentId === sandbox.id), 'a fork is left')
})

await step('the model gets the schemas of the tools, and their answers', async () => {
  const [{ path, tools: described }] = asked
  assert.equal(path, '/v1/chat/completions')
  const byName = Object.fromEntries(described.map(({ function: { name, parameters } }) => [name, parameters]))
  assert.deepEqual(Object.keys(byName).toSorted(), Object.keys(tools).toSorted())
  assert.equal(byName.tryCommands.properties.commands.maxItems, 8)
  assert.match(asked.at(-1).answers.join('\n'), /2 \+ 3 is not 0/)
})

const sleepers = async () => (await sandbox.exec('pgrep -fc "sleep 77[9]"')).stdout.trim()

await step('an aborted agent ends its command in the sandbox', async () => {
  TURNS[0] = () => [['runCommand', { command: 'sleep 779' }]]
  const aborter = new AbortController()
  const running = errorOf(
    generateText({ model, tools, prompt: 'wait', stopWhen: isStepCount(2), abortSignal: aborter.signal }),
  )
  await until(async () => (await sleepers()) !== '0')
  aborter.abort()
  assert.equal((await running).name, 'AbortError')
  await until(async () => (await sleepers()) === '0')
})

await step('a sandbox without an interpreter has no tool for code', async () => {
  const { template } = sandbox.info
  assert.equal(template, 'code-interpreter')
  assert('runCode' in sandboxTools(sandbox))
  assert(!('runCode' in sandboxTools(sandbox, { code: false })))
})

await sandbox.delete()
close()
await step('the end', async () => {})
