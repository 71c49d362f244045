// Runs JavaScript or TypeScript for one context. The server sends one JSON object per line on file descriptor 3:
// {code, env, lasting_env}. The kernel answers with lines of `result` and `error`, and one of `end`. SIGINT interrupts.
//
// V8's REPL mode evaluates the code: it allows top-level await, and const, let and class may be declared again. Only
// the inspector offers that mode. Only `vm` ends a busy loop at SIGINT, so a script of `vm` calls the inspector. A loop
// that begins after an `await` is outside of that script; the server ends the process then. A second thread could end
// such loops too, but its start takes ten seconds under emulation.

import { Session } from 'node:inspector'
import { stripTypeScriptTypes, createRequire } from 'node:module'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { Script } from 'node:vm'
import { parse } from 'acorn'

const CONTROL_FD = 3
/** Bytes of all representations of one result. */
const MAX_RESULT_BYTES = 10 * 1024 * 1024
const MAX_JSON_BYTES = 1024 * 1024
const POST = new Script('__post()', { filename: 'node:kernel' })
const NOTHING = () => {}
const DISPLAY = Symbol.for('Jupyter.display')
const KEYS = {
  'text/plain': 'text',
  'text/html': 'html',
  'text/markdown': 'markdown',
  'image/svg+xml': 'svg',
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'application/pdf': 'pdf',
  'text/latex': 'latex',
  'application/json': 'json',
  'application/javascript': 'javascript',
}

main()

function main() {
  const [language] = process.argv.slice(2)
  const session = new Session()
  session.connect()
  // In a callback of its own: an interrupted execution drops the microtasks that would run after it, and those must not
  // be the kernel's. Nor should the kernel's functions be in the stack traces of the code.
  const post = (method, parameters, onInterrupt = NOTHING) => {
    const { promise, resolve } = Promise.withResolvers()
    hidden('__post', () => session.post(method, parameters, (error, answer) => resolve({ error, ...answer })))
    setImmediate(() => {
      try {
        POST.runInThisContext({ breakOnSigint: true })
      } catch {
        onInterrupt()
      }
    })
    return promise
  }
  const control = new Socket({ fd: CONTROL_FD })
  const send = (event) => control.write(`${JSON.stringify(event)}\n`)

  let interrupt = NOTHING
  process.on('SIGINT', () => interrupt())
  process.on('exit', () => session.disconnect())

  // Code that fails later must not end the kernel.
  for (const event of ['uncaughtException', 'unhandledRejection'])
    process.on(event, (error) => process.stderr.write(`Uncaught ${inspect(error)}\n`))

  const parent = pathToFileURL(join(process.cwd(), 'cell.mjs')).href
  hidden('require', createRequire(parent))
  hidden('__kernel', {
    import: (specifier, options) => import(import.meta.resolve(String(specifier), parent), options),
    meta: { url: parent, dirname: process.cwd(), resolve: (specifier) => import.meta.resolve(specifier, parent) },
    show: (value, isMain) => showResult(send, value, isMain),
    fail: (error) => showError(send, error),
  })
  hidden('display', (value, options) => showResult(send, options?.raw ? { [DISPLAY]: () => value } : value, false))

  let count = 0
  let pending = Promise.resolve()
  readLines(control, (line) => {
    const request = JSON.parse(line)
    pending = pending.then(() => run(request)).then(() => send({ type: 'end' }))
  })

  async function run({ code, env, lasting_env: lasting }) {
    Object.assign(process.env, lasting)
    const previous = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]))
    Object.assign(process.env, env)
    try {
      await evaluate(code)
    } finally {
      for (const [name, value] of Object.entries(previous)) {
        // The code may have changed it for later executions.
        if (process.env[name] !== env[name]) continue
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    }
  }

  async function evaluate(code) {
    const name = `cell-${++count}.js`
    let expression
    try {
      expression = `${rewrite(language === 'typescript' ? stripTypes(code) : code)}\n//# sourceURL=${name}`
    } catch (error) {
      send({ type: 'error', name: error.name, value: error.message, traceback: `${error.name}: ${error.message}` })
      return
    }
    const { promise: interrupted, resolve: giveUp } = Promise.withResolvers()
    interrupt = () => giveUp(null)
    const parameters = { expression, replMode: true, objectGroup: name }
    const evaluated = post('Runtime.evaluate', parameters, interrupt)
    const answer = await Promise.race([evaluated, interrupted])
    interrupt = NOTHING
    if (answer === null || answer.error) {
      const value = 'the execution was interrupted'
      send({ type: 'error', name: 'Interrupted', value, traceback: `Interrupted: ${value}` })
      return
    }
    const { exceptionDetails, result } = answer
    const isError = exceptionDetails !== undefined
    const remote = isError ? (exceptionDetails.exception ?? result) : result
    if (isError || remote.type !== 'undefined') {
      const { result: globals } = await post('Runtime.evaluate', { expression: 'globalThis', objectGroup: name })
      const { objectId, unserializableValue, value } = remote
      const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value }
      await post('Runtime.callFunctionOn', {
        objectId: globals.objectId,
        functionDeclaration: isError
          ? 'function (error) { __kernel.fail(error) }'
          : 'function (value) { __kernel.show(value, true) }',
        arguments: [argument],
      })
    }
    session.post('Runtime.releaseObjectGroup', { objectGroup: name })
  }
}

function hidden(name, value) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
}

function readLines(socket, onLine) {
  let parts = []
  socket.setEncoding('utf8')
  socket.on('data', (text) => {
    const lines = text.split('\n')
    parts.push(lines[0])
    for (const next of lines.slice(1)) {
      onLine(parts.join(''))
      parts = [next]
    }
  })
  // The server is gone.
  for (const event of ['end', 'error']) socket.on(event, () => process.exit(0))
}

function showResult(send, value, isMain) {
  const event = { type: 'result', is_main_result: isMain }
  const extra = {}
  let left = MAX_RESULT_BYTES
  for (const [mime, shown] of Object.entries(bundleOf(value))) {
    const size = Buffer.byteLength(JSON.stringify(shown) ?? '')
    if (size > left) {
      process.stderr.write(`The ${mime} of a result is left out: it has ${size} bytes.\n`)
      continue
    }
    left -= size
    if (Object.hasOwn(KEYS, mime)) event[KEYS[mime]] = shown
    else extra[mime] = shown
  }
  if (Object.keys(extra).length > 0) event.extra = extra
  send(event)
}

/** MIME type to representation. Values may bring their own, as in Deno's kernel: a function `Symbol.for('Jupyter.display')`. */
function bundleOf(value) {
  if (typeof value?.[DISPLAY] === 'function') {
    const own = value[DISPLAY]()
    if (typeof own === 'object' && own !== null) return own
  }
  const text = typeof value === 'string' ? value : inspect(value, { depth: 6, maxArrayLength: 1000 })
  const json = jsonOf(value)
  return { 'text/plain': text, ...(json !== undefined && { 'application/json': json }) }
}

/** Plain objects and arrays only. */
function jsonOf(value) {
  if (typeof value !== 'object' || value === null) return undefined
  const prototype = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return undefined
  try {
    const text = JSON.stringify(value)
    return text.length <= MAX_JSON_BYTES ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

function showError(send, error) {
  const isError = error instanceof Error || typeof error?.stack === 'string'
  const name = isError ? String(error.name) : 'Error'
  const value = isError ? String(error.message) : inspect(error)
  const stack = isError ? String(error.stack) : `Uncaught ${value}`
  const own = import.meta.url
  const lines = stack
    .split('\n')
    .filter((line) => !/^\s+at /.test(line) || !(line.includes('node:') || line.includes(own)))
  send({ type: 'error', name, value: value.slice(0, 65536), traceback: lines.join('\n').slice(0, 262144) })
}

function stripTypes(code) {
  try {
    return stripTypeScriptTypes(code, { mode: 'strip' })
  } catch (error) {
    // Enumerations and namespaces are code, not only types.
    if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw error
    return stripTypeScriptTypes(code, { mode: 'transform' })
  }
}

/** Replaces what only modules may have: `import`, `export` and `import.meta`. Lines keep their numbers. */
function rewrite(code) {
  const options = { ecmaVersion: 'latest', allowHashBang: true, allowAwaitOutsideFunction: true }
  if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
    try {
      parse(`(${code}\n)`, { ...options, sourceType: 'script' })
      return `(${code}\n)`
    } catch {
      // A block, not an object.
    }
  }
  let program
  try {
    program = parse(code, { ...options, sourceType: 'module' })
  } catch {
    // V8 explains the mistake, or accepts what is not allowed in a module.
    return code
  }
  const edits = []
  visit(program, (node) => {
    const { type, start, end } = node
    const edit = (from, to, put) => edits.push({ from, to, text: put, type })
    if (type === 'ImportDeclaration') edit(start, end, importOf(node, code) + '\n'.repeat(lineBreaks(code, start, end)))
    else if (type === 'ExportNamedDeclaration') edit(start, node.declaration?.start ?? end, '')
    else if (type === 'ExportDefaultDeclaration') edit(start, node.declaration.start, '')
    else if (type === 'ExportAllDeclaration') edit(start, end, '')
    else if (type === 'ImportExpression') edit(start, start + 'import'.length, '__kernel.import')
    else if (type === 'MetaProperty' && node.meta.name === 'import') edit(start, end, '__kernel.meta')
  })
  edits.sort((a, b) => b.from - a.from)
  return edits.reduce((text, { from, to, text: put }) => text.slice(0, from) + put + text.slice(to), code)
}

function lineBreaks(code, start, end) {
  return code.slice(start, end).split('\n').length - 1
}

function importOf({ specifiers, source, attributes = [] }, code) {
  const given = attributes.map(({ start, end }) => code.slice(start, end)).join(', ')
  const from = `await __kernel.import(${source.raw}${given === '' ? '' : `, { with: { ${given} } }`})`
  const space = specifiers.find(({ type }) => type === 'ImportNamespaceSpecifier')
  const names = specifiers
    .filter((each) => each !== space)
    .map(({ imported, local }) => {
      const name = imported === undefined ? 'default' : (imported.raw ?? imported.name)
      return `${name}: ${local.name}`
    })
  if (space === undefined) return names.length === 0 ? `${from};` : `const { ${names.join(', ')} } = ${from};`
  const more = names.length === 0 ? '' : `, { ${names.join(', ')} } = ${space.local.name}`
  return `const ${space.local.name} = ${from}${more};`
}

function visit(node, see) {
  if (typeof node?.type !== 'string') return
  see(node)
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) for (const each of child) visit(each, see)
    else if (typeof child === 'object' && child !== null) visit(child, see)
  }
}
