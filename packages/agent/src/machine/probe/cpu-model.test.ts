import { describe, expect, it } from 'vitest'
import { chooseCpuModel } from './cpu-model.ts'

const model = (name: string, ...lacking: string[]) => ({ name, 'unavailable-features': lacking })

const NEW_INTEL = ['Broadwell-v2', 'Haswell-v2', 'IvyBridge-v1', 'Westmere-v1', 'Nehalem-v1'].map((name) => model(name))
const OLD_INTEL = NEW_INTEL.map(({ name }) => (/well/.test(name) ? model(name, 'avx2') : model(name)))

describe("the guests' CPU under KVM", () => {
  it.each([
    ['the newest that the host offers completely', NEW_INTEL, 'GenuineIntel', null, 'Broadwell-v2'],
    ['an older one on an older host', OLD_INTEL, 'GenuineIntel', null, 'IvyBridge-v1'],
    ['the existing guests’ model, if the host offers it', NEW_INTEL, 'GenuineIntel', 'Nehalem-v1', 'Nehalem-v1'],
    ['another one if the host does not offer that', OLD_INTEL, 'GenuineIntel', 'Broadwell-v2', 'IvyBridge-v1'],
    ["AMD's on AMD", [model('Broadwell-v2'), model('EPYC-v1')], 'AuthenticAMD', null, 'EPYC-v1'],
    ["AMD's on a CPU like it", [model('Broadwell-v2'), model('EPYC-v1')], 'HygonGenuine', null, 'EPYC-v1'],
  ])('is %s', (_what, definitions, vendor, lastCpu, chosen) => {
    expect(chooseCpuModel(definitions, vendor, lastCpu)).toBe(chosen)
  })

  it('is an error with the missing features if the host offers no model', () => {
    const none = OLD_INTEL.map(({ name }) => model(name, 'pni', 'ssse3'))
    expect(() => chooseCpuModel(none, 'GenuineIntel', null)).toThrow('for Nehalem-v1 it lacks pni, ssse3')
    expect(() => chooseCpuModel([], 'GenuineIntel', null)).toThrow('it lacks the model itself')
  })
})
