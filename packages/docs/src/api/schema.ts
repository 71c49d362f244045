import { escapeHtml } from '../html.ts'
import type { ApiDocument, Schema } from './document.ts'

const MAX_DEPTH = 4
const JSON_SAFE = 2 ** 31 - 1

/** A field of a JSON object with its path, such as `network.egress` or `[].id`. */
export interface Field {
  readonly path: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

/** A schema without references, and without `null` among its alternatives. */
function resolve(document: ApiDocument, schema: Schema): Schema {
  if (schema.$ref !== undefined) {
    const named = document.components.schemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)] ?? {}
    return resolve(document, { ...named, ...(schema.description !== undefined && { description: schema.description }) })
  }
  const alternatives = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  const [only] = alternatives
  if (alternatives.length !== 1 || only === undefined) return schema
  const { description } = schema
  return { ...resolve(document, only), ...(description !== undefined && { description }) }
}

/** Every field of an object or of a list of objects, with those inside. */
export function fieldsOf(document: ApiDocument, schema: Schema): Field[] {
  const fields: Field[] = []
  const visit = (given: Schema, prefix: string, depth: number): void => {
    const { properties = {}, required = [], items, anyOf } = resolve(document, given)
    if (items !== undefined && depth < MAX_DEPTH) visit(items, `${prefix}[]`, depth + 1)
    for (const alternative of anyOf ?? []) visit(alternative, prefix, depth + 1)
    if (depth >= MAX_DEPTH) return
    for (const [name, property] of Object.entries(properties)) {
      const path = prefix === '' ? name : `${prefix}.${name}`
      if (fields.some((field) => field.path === path)) continue
      const resolved = resolve(document, property)
      const isRequired = required.includes(name)
      fields.push({ path, type: typeOf(document, property), isRequired, description: resolved.description ?? '' })
      visit(property, path, depth + 1)
    }
  }
  visit(schema, '', 0)
  return fields
}

/** The type of a value in a few words, with its range. */
export function typeOf(document: ApiDocument, given: Schema): string {
  const isNullable = given.anyOf?.some(({ type }) => type === 'null') === true
  const schema = resolve(document, given)
  const types = [schema.type ?? []].flat().filter((type) => type !== 'null')
  const text = nameOf(document, schema, types)
  return isNullable || [schema.type].flat().includes('null') ? `${text} or null` : text
}

function nameOf(document: ApiDocument, schema: Schema, types: readonly string[]): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(', ')
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((each) => typeOf(document, each)))].join(' or ')
  if (schema.items !== undefined) return `list of ${typeOf(document, schema.items)}`
  if (typeof schema.additionalProperties === 'object') return `map of ${typeOf(document, schema.additionalProperties)}`
  return [types.join(' or ') || 'any', rangeOf(schema)].filter(Boolean).join(', ')
}

function rangeOf({ minimum, maximum, minLength, maxLength }: Schema): string {
  const [low, high] = minimum !== undefined || maximum !== undefined ? [minimum, maximum] : [minLength, maxLength]
  const unit = minLength !== undefined || maxLength !== undefined ? ' characters' : ''
  const isLow = low !== undefined && Math.abs(low) < JSON_SAFE
  const isHigh = high !== undefined && Math.abs(high) < JSON_SAFE
  if (isLow && isHigh) return `${low} to ${high}${unit}`
  if (isLow) return `at least ${low}${unit}`
  return isHigh ? `at most ${high}${unit}` : ''
}

/** A value of the schema with its required fields, to begin a request with. */
export function exampleOf(document: ApiDocument, given: Schema, depth = 0): unknown {
  const schema = resolve(document, given)
  const [first] = schema.anyOf ?? []
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (first !== undefined) return exampleOf(document, first, depth + 1)
  if (schema.properties !== undefined) {
    const { properties, required = [] } = schema
    if (depth > MAX_DEPTH) return {}
    return Object.fromEntries(required.map((name) => [name, named(document, name, properties[name] ?? {}, depth)]))
  }
  switch ([schema.type].flat()[0]) {
    case 'array':
      return (schema.minItems ?? 0) > 0 ? [exampleOf(document, schema.items ?? {}, depth + 1)] : []
    case 'integer':
    case 'number':
      return schema.minimum !== undefined && schema.minimum > 0 ? schema.minimum : 1
    case 'boolean':
      return true
    case 'string':
      return 'text'
    case undefined:
    default:
      return {}
  }
}

/** Values that work on a fresh service. */
const KNOWN: Readonly<Record<string, unknown>> = {
  template: 'base',
  cmd: 'echo hello',
  git_url: 'https://git.example.com/site.git',
  url: 'https://ci.example.com/hook',
}

function named(document: ApiDocument, name: string, schema: Schema, depth: number): unknown {
  return KNOWN[name] ?? exampleOf(document, schema, depth + 1)
}

export function fieldTable(fields: readonly Field[]): string {
  if (fields.length === 0) return ''
  const rows = fields.map(({ path, type, isRequired, description }) => {
    const note = isRequired ? ' <em>required</em>' : ''
    const cells = [`<code>${escapeHtml(path)}</code>${note}`, escapeHtml(type), prose(description)]
    return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
  })
  const head = '<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>'
  return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>${rows.join('')}</tbody></table></div>`
}

/** A description with its code in backticks. */
export function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
