/** An answer of `GET /v1/sandboxes/{id}/lineage` with this sandbox at the root and many that do not exist. */
export function lineageOf(root: string, count: number, nameOf = (n: number) => `fork ${n}`) {
  const idOf = (n: number) => (n === 0 ? root : `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`)
  const nodes = Array.from({ length: count }, (_, n) => ({
    id: idOf(n),
    kind: 'sandbox',
    link: n === 0 ? 'template' : 'fork',
    parent_id: n === 0 ? null : idOf(Math.floor((n - 1) / 3)),
    name: n === 0 ? 'root' : nameOf(n),
    template: 'base',
    status: 'running',
    cpu: 1,
    memory_mb: 512,
    size_bytes: null,
    fork_tree_id: null,
    promoted: false,
    created_at: new Date(Date.now() - (count - n) * 1000).toISOString(),
    deleted_at: null,
  }))
  return { root_id: root, nodes, truncated: false }
}
