import { controlSettings } from '@offshoot/contract/control-settings'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { knownVariables, readText } from './process-config.ts'
import { readYaml, VALUES } from './rendered.ts'

interface Values {
  [name: string]: unknown
}

interface Schema {
  readonly propertyNames: { readonly enum: readonly string[] }
  readonly properties: Readonly<Record<string, Schema>>
}

const schema = JSON.parse(readText('deploy/helm/offshoot/values.schema.json')) as Schema
const validate = new Ajv({ allErrors: true, strict: false }).compile(schema)
const defaults = readYaml('helm/offshoot/values.yaml') as Values

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** As Helm does: objects are merged, and everything else is replaced. */
function merged(values: Values, changes: Values): Values {
  const entries = Object.entries(changes).map(([name, change]) => {
    const value = values[name]
    return [name, isObject(value) && isObject(change) ? merged(value, change) : change] as const
  })
  return { ...values, ...Object.fromEntries(entries) }
}

/** Where the values are refused. */
function refusals(changes: Values): readonly string[] {
  return validate(merged(defaults, changes)) ? [] : (validate.errors ?? []).map(({ instancePath }) => instancePath)
}

const ofCi = (name: string) => readYaml(`helm/offshoot/ci/${name}-values.yaml`) as Values

describe('the schema of the chart’s values', () => {
  it.each(VALUES)('accepts the %s values', (name) => {
    expect(refusals(ofCi(name))).toEqual([])
  })

  it('asks for what has no default, and for nothing else', () => {
    expect(new Set(refusals({}))).toEqual(
      new Set(['/publicUrl', '/postgresql/host', '/edge/preview/suffix', '/edge/databases/host', '/edge/ssh/host']),
    )
  })

  it.each([
    ['a plain address', { publicUrl: 'http://api.example.com' }, '/publicUrl'],
    ['an address with a final slash', { publicUrl: 'https://api.example.com/' }, '/publicUrl'],
    ['an unknown value', { controll: {} }, ''],
    ['an unknown value of a part', { agent: { ports: 1 } }, '/agent'],
    ['a port out of range', { agent: { port: 65_536 } }, '/agent/port'],
    ['several edges without a certificate', { edge: { replicas: 2 } }, '/edge/replicas'],
    ['a setting that control does not have', { settings: { sign_upp: 'open' } }, '/settings'],
    ['a setting that another value sets', { settings: { public_url: 'https://x.example' } }, '/settings'],
    ['a variable that bin/up does not read', { agent: { env: { OFFSHOOT_TEMPLATE: 'base' } } }, '/agent/env'],
    ['a variable that is no text', { agent: { env: { OFFSHOOT_POOL_MIB: 0 } } }, '/agent/env/OFFSHOOT_POOL_MIB'],
    ['a relative folder', { agent: { dataDir: 'data' } }, '/agent/dataDir'],
  ])('refuses %s', (_what, changes, place) => {
    expect(refusals(merged(ofCi('minimal'), changes))).toContain(place)
  })

  it('knows the settings of control, except those that other values set', () => {
    const ofChart = new Set(['public_url', 'tls'])
    const known = Object.keys(controlSettings.shape).filter((name) => !ofChart.has(name))
    expect(schema.properties['settings']?.propertyNames.enum.toSorted()).toEqual(known.toSorted())
  })

  it('knows no variable of the agent that bin/up does not read', () => {
    const names = schema.properties['agent']?.properties['env']?.propertyNames.enum ?? []
    expect(names.length).toBeGreaterThan(0)
    expect([...knownVariables()]).toEqual(expect.arrayContaining([...names]))
  })
})
