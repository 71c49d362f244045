import { expect, it } from 'vitest'
import { planOf } from './plan.ts'

const scan = {
  'Node Type': 'Seq Scan',
  'Relation Name': 'people',
  Filter: "(name = 'x')",
  'Total Cost': 90,
  'Plan Rows': 10,
  'Actual Total Time': 40,
  'Actual Rows': 3,
  'Actual Loops': 2,
}

it('marks the node that takes the time, over all of its loops', () => {
  const { root, executionMs, planningMs } = planOf([
    {
      Plan: {
        'Node Type': 'Nested Loop',
        'Join Type': 'Inner',
        'Total Cost': 100,
        'Plan Rows': 1,
        'Actual Total Time': 100,
        'Actual Rows': 6,
        'Actual Loops': 1,
        Plans: [scan],
      },
      'Execution Time': 100.5,
    },
  ])
  const [child] = root.children
  expect([root.title, root.share, root.isSlow]).toEqual(['Inner Nested Loop', 0.2, false])
  expect(child).toMatchObject({
    title: 'Seq Scan on people',
    details: ["filter: (name = 'x')"],
    actual: { rows: 6, loops: 2, ms: 80 },
    share: 0.8,
    isSlow: true,
  })
  expect([executionMs, planningMs]).toEqual([100.5, null])
})

it('measures by cost what was not run', () => {
  const { 'Actual Total Time': _time, ...planned } = scan
  expect(planOf([{ Plan: planned }]).root).toMatchObject({ actual: null, share: 1, isSlow: true })
  expect(() => planOf([])).toThrow('no plan')
})

it('does not call slow what takes less than ten milliseconds', () => {
  expect(planOf([{ Plan: { ...scan, 'Actual Total Time': 4 } }]).root).toMatchObject({ share: 1, isSlow: false })
})
