// Writes the types of the API from an OpenAPI document on standard input:
//
//     node bin/lib/openapi-document.mjs | node packages/sdk/generate-types.mjs packages/sdk/src/generated
//
// - wire.ts: every route with its path, query, body and answer, and the schemas that they name, as they are on the wire.
// - models.ts: the same schemas with names in camelCase, as the functions of the SDK take and return them.
// - facts.ts: what the functions need to know while they run.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import openapiTS, { astToString } from 'openapi-typescript'

const [folder] = process.argv.slice(2)
const document = await json(process.stdin)

const camelCase = (name) => name.replaceAll(/_([a-z0-9])/g, (_all, letter) => letter.toUpperCase())
const snakeCase = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const isObject = (value) => typeof value === 'object' && value !== null

/** Every schema below this one, with the name of the field that holds it. */
function* within(schema, field = null) {
  if (!isObject(schema)) return
  yield [field, schema]
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* within(inner, name)
  for (const alternative of ['anyOf', 'oneOf', 'allOf'].flatMap((kind) => schema[kind] ?? [])) {
    yield* within(alternative, field)
  }
  if (schema.items) yield* within(schema.items, field)
}

/** Whether the keys of a value are data instead of names of fields. */
function isOpaque(schema) {
  const { description: _text, ...rest } = schema
  return Object.keys(rest).length === 0 || ('additionalProperties' in schema && schema.properties === undefined)
}

function opaqueFields() {
  const [opaque, named] = [new Set(), new Set()]
  for (const schema of Object.values(schemas)) {
    for (const [field, inner] of within(schema)) {
      if (field === null) continue
      if (isOpaque(inner)) opaque.add(field)
      else if (inner.properties !== undefined || inner.$ref !== undefined) named.add(field)
      if (snakeCase(camelCase(field)) !== field) throw new Error(`the field ${field} has no name in camelCase`)
    }
  }
  for (const field of opaque) {
    if (named.has(field)) throw new Error(`the field ${field} is a map in one schema and an object in another`)
  }
  return [...opaque].toSorted((a, b) => (a < b ? -1 : 1))
}

const changed = (value, change) => Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(inner)]))

/** The schema without descriptions: the models have them. */
function undescribed(schema) {
  if (!isObject(schema)) return schema
  if (Array.isArray(schema)) return schema.map(undescribed)
  const { description, properties, ...rest } = schema
  return {
    ...changed(rest, undescribed),
    ...(properties && { properties: changed(properties, undescribed) }),
    // A field of this name, not a description.
    ...(isObject(description) && { description: undescribed(description) }),
  }
}

function inCamelCase(schema) {
  if (!isObject(schema)) return schema
  if (Array.isArray(schema)) return schema.map(inCamelCase)
  const { properties, required, ...rest } = schema
  return {
    ...changed(rest, inCamelCase),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, inner]) => [camelCase(name), inCamelCase(inner)]),
      ),
    }),
    ...(required && { required: required.map(camelCase) }),
  }
}

const isAlternative = (schema) => isObject(schema) && Object.keys(schema).join() === 'required'

/** A schema of which one of several fields is required, as a union: types have no other form for that. */
function united(schema) {
  if (!isObject(schema)) return schema
  if (Array.isArray(schema)) return schema.map(united)
  const { anyOf, properties, required = [], dependentRequired: _untyped, ...rest } = changed(schema, united)
  if (!anyOf?.every(isAlternative)) return changed(schema, united)
  const { description, ...type } = rest
  return {
    ...(description && { description }),
    anyOf: anyOf.map((each) => ({ ...type, properties, required: [...required, ...each.required] })),
  }
}

const schemas = united(document.components.schemas)

const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required })

function route({ summary, parameters, requestBody, responses }) {
  const fields = {}
  const required = ['answer']
  for (const place of ['path', 'query']) {
    const found = parameters.filter((each) => each.in === place)
    if (found.length === 0) continue
    const needed = found.filter((each) => each.required).map(({ name }) => name)
    fields[place] = object(Object.fromEntries(found.map(({ name, schema }) => [name, schema])), needed)
    if (needed.length > 0) required.push(place)
  }
  if (requestBody !== undefined) {
    const schema = requestBody.content['application/json']?.schema
    fields.body = united(schema) ?? { description: `Bytes: ${Object.keys(requestBody.content).join()}` }
    if (requestBody.required && schema !== undefined) required.push('body')
  }
  const contents = Object.entries(responses)
    .filter(([status]) => Number(status) < 400)
    .map(([, { content = {} }]) => content)
  const answers = contents.flatMap((content) => content['application/json']?.schema ?? [])
  const events = contents.flatMap((content) => content['text/event-stream']?.schema ?? [])
  fields.answer = answers.length === 0 ? { type: 'null' } : answers.length === 1 ? answers[0] : { anyOf: answers }
  if (events.length > 0) {
    fields.event = events[0]
    required.push('event')
  }
  return { ...object(undescribed(fields), required), description: summary }
}

const routes = Object.fromEntries(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, route(operation)]),
  ),
)

/** Routes of which the service carries out only the first of several requests with the same key. */
function keyedRoutes() {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { parameters }]) => parameters.some(({ name }) => name === 'Idempotency-Key'))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )
}

async function types(components) {
  const tree = await openapiTS(
    { openapi: '3.1.0', info: { title: 'Offshoot', version: '1' }, paths: {}, components: { schemas: components } },
    { defaultNonNullable: false, rootTypes: true, rootTypesNoSchemaPrefix: true, silent: true },
  )
  return astToString(tree)
    .replace(/^export type (paths|webhooks|\$defs|operations) = .*\n/gm, '')
    .replace(/^ {4}(responses|parameters|requestBodies|headers|pathItems): never;\n/gm, '')
    .replaceAll('    ', '  ')
}

const HEAD = `// Generated from /openapi.json by generate-types.mjs. Do not edit.\n\n`
const files = {
  'wire.ts': await types({ ...undescribed(schemas), Routes: object(routes) }),
  'models.ts': await types(inCamelCase(schemas)),
  'facts.ts': `/** Fields whose keys are data of the user, such as names of variables. */
export const OPAQUE_FIELDS: ReadonlySet<string> = /* @__PURE__ */ new Set(${JSON.stringify(opaqueFields())})

/** Routes that accept an \`Idempotency-Key\`. */
export const KEYED_ROUTES: ReadonlySet<string> = /* @__PURE__ */ new Set(${JSON.stringify(keyedRoutes())})\n`,
}
mkdirSync(folder, { recursive: true })
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), HEAD + text)
