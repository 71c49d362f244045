/** @module-tag long */
import type { CodeContext } from '@offshoot/contract/code'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Offshoot } from './setup/offshoot.ts'
import { codeResultCases } from './setup/code-result-cases.ts'
import { linesOfExample } from './setup/documented-examples.ts'
import { type AskedCode, openCode, ranCode } from './setup/run-code.ts'
import { until } from './setup/until.ts'

/** Milliseconds for a test: kernels start slowly on an emulated, busy CPU. */
const TEST_MS = 240_000

let offshoot: Offshoot
let id: string
beforeAll(async () => {
  offshoot = await Offshoot.start('code', { templates: ['minimal', 'code-interpreter'] })
  id = (await offshoot.create({ template: 'code-interpreter', persistent: true, env: { OF_SANDBOX: 'kept' } })).id
}, TEST_MS)
afterAll(async () => {
  await offshoot?.destroy()
})

const open = (code: string, asked: AskedCode = {}, of = id) => openCode(offshoot, of, code, asked)
const run = async (code: string, asked: AskedCode = {}, of = id) => ranCode(await (await open(code, asked, of)).rest())
/** The text of the last expression. */
const valueOf = async (code: string, asked: AskedCode = {}, of = id) => {
  const { results, error } = await run(code, asked, of)
  expect(error).toBeUndefined()
  return results.find(({ is_main_result: isMain }) => isMain)?.text
}
const contexts = (path = '', method = 'GET', body?: unknown, of = id) =>
  offshoot.request(method, `/v1/sandboxes/${of}/code/contexts${path}`, body === undefined ? {} : { body })
const newContext = async (body: unknown = {}) => {
  const answer = await contexts('', 'POST', body)
  expect(answer.status).toBe(201)
  return answer.body as CodeContext
}

const ask = async (body: unknown, of = id) => {
  const { status, body: answer } = await offshoot.request('POST', `/v1/sandboxes/${of}/code`, { body })
  return [status, answer.error]
}

describe('Python', { timeout: TEST_MS }, () => {
  it('gives outputs, the value, and the count of executions', async () => {
    const { stdout, stderr, results, last } = await run(
      'import os, sys\nprint(os.getcwd(), os.getuid(), os.environ["OF_SANDBOX"])\nprint("e", file=sys.stderr)\nx = 6\nx * 7',
    )
    expect([stdout, stderr, results]).toEqual(['/home/user 1000 kept\n', 'e\n', [{ is_main_result: true, text: '42' }]])
    expect(last).toMatchObject({ event: 'end', data: { execution_count: 1, duration_ms: expect.any(Number) } })
    expect(await valueOf('x')).toBe('6')
    expect(await valueOf('"é😀"')).toBe('é😀')
    expect(await valueOf('import asyncio\nawait asyncio.sleep(0.01, "awaited")')).toBe('awaited')
  })

  codeResultCases((code) => run(code))

  it('gives an exception with its traceback, and goes on', async () => {
    const { error, last } = await run('def f():\n    return 1 / 0\nf()')
    expect(error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' })
    expect(error?.traceback).toContain('return 1 / 0')
    expect(last?.event).toBe('end')
    expect((await run('x = = 1')).error?.name).toBe('SyntaxError')
    expect((await run('input("?")')).error?.name).toBe('EOFError')
    expect(await valueOf('1 + 1')).toBe('2')
  })

  it('has variables of one execution', async () => {
    const code = 'import os\nos.environ.get("ONCE")'
    expect(await valueOf(code, { env: { ONCE: 'now' } })).toBe('now')
    expect(await valueOf(code)).toBeUndefined()
  })

  it('lists the default contexts of Python and JavaScript from the start', async () => {
    const other = await offshoot.create({ template: 'code-interpreter' })
    const { body } = await contexts('', 'GET', undefined, other.id)
    expect(body).toEqual([
      { id: 'python', language: 'python', cwd: '/home/user' },
      { id: 'javascript', language: 'javascript', cwd: '/home/user' },
    ])
    await offshoot.delete(other.id)
  })

  it('runs executions of one context one after the other, and of two contexts at the same time', async () => {
    const other = await newContext({ cwd: '/tmp' })
    const started = await open(
      'open("/tmp/a", "w").close()\nimport os, time\nwhile not os.path.exists("/tmp/b"): time.sleep(0.01)\norder = ["a"]',
    )
    const queued = [1, 2, 3].map((n) => run(`order.append(${n})`))
    const made =
      'import os, time\nwhile not os.path.exists("/tmp/a"): time.sleep(0.01)\nopen("/tmp/b", "w").close()\nos.getcwd()'
    expect(await valueOf(made, { context_id: other.id })).toBe('/tmp')
    await started.rest()
    await Promise.all(queued)
    expect(await valueOf('sorted(order, key=str)')).toBe("[1, 2, 3, 'a']")
    expect(await valueOf('order[0]')).toBe('a')
    expect((await run('order', { context_id: other.id })).error?.name).toBe('NameError')
    expect((await contexts(`/${other.id}`, 'DELETE')).status).toBe(204)
    expect((await contexts(`/${other.id}`, 'DELETE')).status).toBe(404)
  })

  it('is interrupted when the caller hangs up, by the route, and at the timeout', async () => {
    await run('kept = "kept"')
    const endless = 'import time\nprint("on", flush=True)\nwhile True: time.sleep(0.01)'
    const left = await open(endless)
    await left.next()
    left.close()
    expect(await valueOf('kept')).toBe('kept')

    const interrupted = await open(endless)
    await interrupted.next()
    expect((await contexts('/python/interrupt', 'POST')).status).toBe(200)
    expect(ranCode(await interrupted.rest())).toMatchObject({
      error: { name: 'KeyboardInterrupt' },
      last: { event: 'end' },
    })

    const late = await run(endless, { timeout_seconds: 2 })
    expect(late.last).toMatchObject({ event: 'error', data: { error: 'code timeout after 2s' } })
    expect(await valueOf('kept')).toBe('kept')
  })

  it('starts anew after its process has died, or by the route', async () => {
    await run('gone = 1')
    const died = await run('import os\nos._exit(3)')
    expect(died).toMatchObject({ error: { name: 'KernelDied' }, last: { event: 'end' } })
    expect((await run('gone')).error?.name).toBe('NameError')
    const full = await run('full = b"x" * 10**10')
    expect(full.error?.name).toMatch(/MemoryError|KernelDied/)
    await run('gone = 1')
    const running = await open('import time\nprint("on", flush=True)\ntime.sleep(3600)')
    await running.next()
    expect((await contexts('/python/restart', 'POST')).status).toBe(200)
    expect(ranCode(await running.rest()).error?.name).toBe('KernelRestarted')
    expect((await run('gone')).error?.name).toBe('NameError')
    // An execution may come before the old process has ended.
    for (let round = 0; round < 5; round++) {
      await contexts('/python/restart', 'POST')
      expect((await run('gone')).error?.name).toBe('NameError')
    }
  })

  it('sends much output to a slow reader without keeping it', async () => {
    const stream = await open('for i in range(60_000): print("y" * 99)')
    let chars = 0
    for await (const { event, data } of stream) if (event === 'stdout') chars += data.chunk.length
    expect(chars).toBe(6_000_000)
  })
})

describe('other languages', { timeout: TEST_MS }, () => {
  it('run JavaScript, with state, await, imports and declarations again', async () => {
    const language = 'javascript'
    const first = await run(
      'import { sep } from "node:path"\nconst a = { b: [sep] }\nconsole.log("out"); console.error("err")\na',
      { language },
    )
    expect(first).toMatchObject({
      stdout: 'out\n',
      stderr: 'err\n',
      results: [{ is_main_result: true, json: { b: ['/'] } }],
    })
    expect(await valueOf('const a = await new Promise((ok) => setTimeout(ok, 5, 7)); a', { language })).toBe('7')
    expect((await run('function f() { return nope }\nf()', { language })).error).toMatchObject({
      name: 'ReferenceError',
      traceback: expect.stringMatching(/^ReferenceError: .*\n +at f \(cell-3\.js:1:\d+\)/),
    })
    expect((await run('display({ "text/html": "<i>x</i>" }, { raw: true })', { language })).results).toEqual([
      { is_main_result: false, html: '<i>x</i>' },
    ])
    const endless = await open('console.log("on"); for (;;) {}', { language })
    await endless.next()
    expect((await contexts('/javascript/interrupt', 'POST')).status).toBe(200)
    expect(ranCode(await endless.rest()).error?.name).toBe('Interrupted')
    expect(await valueOf('a', { language })).toBe('7')
    expect((await run('process.exit(4)', { language })).error?.name).toBe('KernelDied')
  })

  it('run TypeScript', async () => {
    const code = 'interface P { n: number }\nconst p: P = { n: 3 }\nenum E { Five = 5 }\np.n + E.Five'
    expect(await valueOf(code, { language: 'typescript' })).toBe('8')
  })

  it('run bash, with folder, variables and functions', async () => {
    const language = 'bash'
    await run('cd /tmp; V=5; f() { echo "f $V"; }', { language })
    expect(await run('pwd; f; false', { language })).toMatchObject({
      stdout: '/tmp\nf 5\n',
      stderr: '',
      error: { name: 'ExitCode', value: '1' },
    })
    const endless = await open('echo on; sleep 3600; echo after', { language })
    await endless.next()
    await contexts('/bash/interrupt', 'POST')
    const ended = ranCode(await endless.rest())
    expect([ended.stdout, ended.error?.name]).toEqual(['', 'Interrupted'])
    expect((await run('f', { language })).stdout).toBe('f 5\n')
    expect((await run('echo "$OF_SANDBOX"', { language })).stdout).toBe('kept\n')
  })
})

describe('a sandbox', { timeout: TEST_MS }, () => {
  it('keeps what its contexts hold over pause, hibernation and a fork', async () => {
    const change = (action: string, body?: unknown) =>
      offshoot.request('POST', `/v1/sandboxes/${id}/${action}`, body === undefined ? {} : { body })
    await run('import itertools\ncounter = itertools.count(1)\nnext(counter)')
    expect((await change('pause')).status).toBe(200)
    expect((await offshoot.request('POST', `/v1/sandboxes/${id}/code`, { body: { code: '1' } })).status).toBe(409)
    expect((await change('resume')).status).toBe(200)
    expect(await valueOf('next(counter)')).toBe('2')
    expect((await change('hibernate')).status).toBe(200)
    // The request itself wakes it.
    expect(await valueOf('next(counter)')).toBe('3')
    const { status, body: child } = await change('fork')
    expect(status).toBe(201)
    await run('counter = itertools.count(100)', {}, child.id)
    expect(await valueOf('next(counter)')).toBe('4')
    expect(await valueOf('next(counter)', {}, child.id)).toBe('100')
    await offshoot.request('DELETE', `/v1/sandboxes/${child.id}`)
  })

  it('keeps its variables when its interpreter is started again', async () => {
    await run('import os\nos.environ["OF_SANDBOX"] = "changed"')
    await offshoot.exec(id, `pkill -KILL -u user -f '[s]erver.py'`)
    await until('the interpreter', async () => (await contexts()).status === 200)
    expect(await valueOf('import os\nos.environ["OF_SANDBOX"]')).toBe('kept')
  })

  it('draws other random numbers than its siblings', async () => {
    const siblings = await Promise.all([1, 2].map(() => offshoot.create({ template: 'code-interpreter' })))
    const code = 'import random, numpy\nstr((random.random(), numpy.random.rand(), random.SystemRandom().random()))'
    const drawn = await Promise.all(siblings.map((each) => valueOf(code, {}, each.id)))
    const numbers = drawn.map((text) => (text ?? '').split(/[(), ]+/).filter((part) => part !== ''))
    expect(new Set(numbers.flat()).size).toBe(6)
    for (const each of siblings) await offshoot.request('DELETE', `/v1/sandboxes/${each.id}`)
  })

  it('refuses what is wrong', async () => {
    expect(await ask({})).toEqual([400, 'code required'])
    expect(await ask({ code: '1', language: 'r' })).toEqual([
      400,
      'language must be one of python, javascript, typescript, bash',
    ])
    expect(await ask({ code: '1', context_id: 'nobodys' })).toEqual([404, 'not found'])
    expect(await ask({ code: '1' }, '00000000-0000-4000-8000-000000000000')).toEqual([404, 'not found'])
    for (const path of ['/nobodys', '/a%2fb', '/..%2fpython'])
      expect([(await contexts(path, 'DELETE')).status, (await contexts(`${path}/restart`, 'POST')).status]).toEqual([
        404, 404,
      ])
    const { status, body } = await contexts('', 'POST', { cwd: '/nowhere' })
    expect([status, body.error]).toEqual([400, 'cwd is not a folder'])
  })

  it('of a template without an interpreter says so, and one whose port another server has', async () => {
    const minimal = (await offshoot.create()).id
    const none = [409, 'this sandbox has no code interpreter']
    expect(await ask({ code: '1' }, minimal)).toEqual(none)
    await offshoot.exec(
      minimal,
      'mkdir /w && echo secret > /w/execute && { setsid httpd -f -p 49999 -h /w >/dev/null 2>&1 </dev/null & }',
    )
    await until(
      'the other server',
      async () => (await offshoot.exec(minimal, 'nc 127.0.0.1 49999 </dev/null')).exit_code === 0,
    )
    expect(await ask({ code: '1' }, minimal)).toEqual(none)
    await offshoot.request('DELETE', `/v1/sandboxes/${minimal}`)
  })
})

it(
  'the example code-interpreter.ts keeps variables from step to step, and in a fork',
  { timeout: TEST_MS },
  async () => {
    expect(await linesOfExample('code-interpreter.ts', offshoot)).toEqual([
      "{'Bern': 8, 'Bonn': 4}",
      'AttributeError',
      'fork: 109 original: 12',
    ])
  },
)
