/** The parts of PostgreSQL's EXPLAIN (FORMAT JSON) that are shown. */
interface ExplainNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Join Type'?: string
  readonly 'CTE Name'?: string
  readonly Filter?: string
  readonly 'Index Cond'?: string
  readonly 'Hash Cond'?: string
  readonly 'Sort Key'?: readonly string[]
  readonly 'Total Cost': number
  readonly 'Plan Rows': number
  readonly 'Actual Total Time'?: number
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly Plans?: readonly ExplainNode[]
}

interface ExplainDocument {
  readonly Plan: ExplainNode
  readonly 'Planning Time'?: number
  readonly 'Execution Time'?: number
}

export interface PlanNode {
  /** E.g. `Index Scan on people`. */
  readonly title: string
  /** Conditions and keys. */
  readonly details: readonly string[]
  readonly expectedRows: number
  readonly cost: number
  /** Over all loops; `null` if the statement was not run. */
  readonly actual: { readonly rows: number; readonly loops: number; readonly ms: number } | null
  /** Of the whole plan's time, or of its cost if it was not run, 0 to 1, without the node's children. */
  readonly share: number
  /** Takes a large part of the whole. */
  readonly isSlow: boolean
  readonly children: readonly PlanNode[]
}

export interface Plan {
  readonly root: PlanNode
  readonly planningMs: number | null
  readonly executionMs: number | null
}

/** The share from which a node is marked. */
const SLOW_SHARE = 0.25
/** Milliseconds of a measured node below which it is not marked, however large its share is. */
const SLOW_MS = 10

/** @throws Error if it is no plan */
export function planOf(json: unknown): Plan {
  const document = (Array.isArray(json) ? json[0] : json) as ExplainDocument | undefined
  if (document?.Plan === undefined) throw new Error('the server answered with no plan')
  const whole = weightOf(document.Plan)
  return {
    root: nodeOf(document.Plan, whole),
    planningMs: document['Planning Time'] ?? null,
    executionMs: document['Execution Time'] ?? null,
  }
}

/** Milliseconds over all loops, or the estimated cost. */
function weightOf(node: ExplainNode): number {
  const { 'Actual Total Time': ms, 'Actual Loops': loops = 1 } = node
  return ms === undefined ? node['Total Cost'] : ms * loops
}

function nodeOf(node: ExplainNode, whole: number): PlanNode {
  const children = node.Plans ?? []
  const own = Math.max(0, weightOf(node) - children.reduce((sum, child) => sum + weightOf(child), 0))
  const share = whole > 0 ? Math.min(1, own / whole) : 0
  const { 'Actual Total Time': ms, 'Actual Rows': rows = 0, 'Actual Loops': loops = 1 } = node
  return {
    title: titleOf(node),
    details: detailsOf(node),
    expectedRows: node['Plan Rows'],
    cost: node['Total Cost'],
    actual: ms === undefined ? null : { rows: rows * loops, loops, ms: ms * loops },
    share,
    isSlow: share >= SLOW_SHARE && (ms === undefined || own >= SLOW_MS),
    children: children.map((child) => nodeOf(child, whole)),
  }
}

function titleOf(node: ExplainNode): string {
  const join = node['Join Type'] === undefined ? '' : `${node['Join Type']} `
  const on = node['Relation Name'] ?? node['CTE Name']
  return `${join}${node['Node Type']}${on === undefined ? '' : ` on ${on}`}`
}

function detailsOf(node: ExplainNode): readonly string[] {
  const named = [
    ['index', node['Index Name']],
    ['condition', node['Index Cond'] ?? node['Hash Cond']],
    ['filter', node.Filter],
    ['sort by', node['Sort Key']?.join(', ')],
  ] as const
  return named.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
}
