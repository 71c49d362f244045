import { Badge } from '../../../ui/badge.tsx'
import { classes } from '../../../ui/classes.ts'
import type { Plan, PlanNode } from './plan.ts'

const count = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const ms = (value: number) => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`

/** A plan as a tree, with the share of each node as a bar. */
export function PlanView({ plan, isMeasured }: { readonly plan: Plan; readonly isMeasured: boolean }) {
  const { root, planningMs, executionMs } = plan
  return (
    <div className="flex flex-col gap-3">
      <p className="text-muted">
        {isMeasured
          ? 'The statement was run in a transaction that cannot write.'
          : 'The statement writes, so it was planned and not run. Shares are of the estimated cost.'}
        {planningMs !== null && ` Planning ${ms(planningMs)}.`}
        {executionMs !== null && ` Execution ${ms(executionMs)}.`}
      </p>
      <ul aria-label="Plan" className="overflow-x-auto">
        <Node node={root} />
      </ul>
    </div>
  )
}

function Node({ node }: { readonly node: PlanNode }) {
  const { title, details, expectedRows, cost, actual, share, isSlow, children } = node
  return (
    <li className="min-w-72">
      <div className={classes('my-1 rounded-md border px-3 py-2', isSlow && 'border-bad bg-bad-soft')}>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className="plaintext font-medium">{title}</span>
          {isSlow && <Badge tone="bad">slow</Badge>}
          <span className="text-xs text-muted">
            {actual === null
              ? `cost ${count.format(cost)}, expects ${count.format(expectedRows)} rows`
              : `${ms(actual.ms)}, ${count.format(actual.rows)} rows (expected ${count.format(expectedRows)})${actual.loops > 1 ? `, ${count.format(actual.loops)} loops` : ''}`}
          </span>
          <span className="ml-auto text-xs tabular-nums">{Math.round(share * 100)} %</span>
        </div>
        <div className="mt-1 h-1 rounded-full bg-raised" aria-hidden>
          <div
            className={classes('h-1 rounded-full', isSlow ? 'bg-bad' : 'bg-accent')}
            style={{ width: `${share * 100}%` }}
          />
        </div>
        {details.map((detail) => (
          <div key={detail} className="plaintext mt-1 font-mono text-xs text-muted">
            {detail}
          </div>
        ))}
      </div>
      {children.length > 0 && (
        <ul className="ml-4 border-l pl-3">
          {children.map((child, index) => (
            // oxlint-disable-next-line react/no-array-index-key
            <Node key={index} node={child} />
          ))}
        </ul>
      )}
    </li>
  )
}
