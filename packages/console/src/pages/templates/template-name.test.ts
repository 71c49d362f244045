import { expect, it } from 'vitest'
import { templateNameOf } from './template-name.ts'

it('proposes a name that the service accepts', () => {
  expect(['web server (2).tar.gz', 'a_b-1.2.tgz', '../x.tar.zst', '.tar', 'é'].map(templateNameOf)).toEqual([
    'web-server-2',
    'a_b-1.2',
    'x',
    '',
    '',
  ])
})
