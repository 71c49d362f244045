import { withinBudget } from '@offshoot/kit/test/within-budget'
import { describe, expect, it } from 'vitest'
import { targetOf, type VisitorRequest } from './visitor.ts'

/** `targetOf` reads only these two fields. */
const request = (url: string, method = 'GET') => ({ url, method }) as VisitorRequest

describe('targetOf', () => {
  it.each([
    ['/a?b', '/a?b'],
    ['http://app.test/a?b', '/a?b'],
    ['HTTPS://APP.test', '/'],
    ['http://app.test?b', '/?b'],
    ['http://other.test/a', null],
    ['*', null],
  ])('of %s is %s', (url, target) => {
    expect(targetOf(request(url), 'app.test')).toBe(target)
  })

  it('reads a target of a megabyte in linear time', () => {
    expect(withinBudget(() => targetOf(request(`http://${'a'.repeat(1024 * 1024)}/\n`), 'app.test'))).toBeNull()
  })
})
