import { describe, expect, it } from 'vitest'
import { eventsOf, filtersOf, formOf } from './webhook-form.ts'

describe('the filters of a webhook', () => {
  it('are everything when nothing is chosen', () => {
    expect(filtersOf(new Set(), ' ', '')).toEqual({ events: ['*'], objects: [] })
  })

  it('are groups and single types, and come back into the form', () => {
    const filters = filtersOf(new Set(['deploy']), 'build.failed, vm.died', 'a\nb')
    expect(filters).toEqual({ events: ['deploy.*', 'build.failed', 'vm.died'], objects: ['a', 'b'] })
    expect(formOf(filters.events, filters.objects)).toEqual({
      groups: new Set(['deploy']),
      types: 'build.failed, vm.died',
      objects: 'a, b',
    })
    expect([eventsOf(['*']), eventsOf(filters.events)]).toEqual(['all', 'deploy.*, build.failed, vm.died'])
    expect(formOf(['*'], [])).toEqual({ groups: new Set(), types: '', objects: '' })
  })
})
