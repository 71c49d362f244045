/**
 * The import direction of ARCHITECTURE.md, held by `npm run imports`:
 * kit ← contract ← {qmp, guest-link, agent, control, edge, up}; {qmp, guest-link} ← agent.
 */
const within = (...names) => `^packages/(${names.join('|')})/`

const layer = (name, ...allowed) => ({
  name: `${name}-imports-only-${allowed.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: within(name) },
  to: { path: '^(packages|tests|bench)/', pathNot: within(name, ...allowed) },
})

export default {
  forbidden: [
    layer('kit'),
    layer('contract', 'kit'),
    layer('qmp', 'contract', 'kit'),
    layer('guest-link', 'contract', 'kit'),
    layer('agent', 'qmp', 'guest-link', 'contract', 'kit'),
    layer('control', 'contract', 'kit'),
    layer('edge', 'contract', 'kit'),
    layer('up', 'contract', 'kit'),
    {
      name: 'contract-does-no-input-or-output',
      severity: 'error',
      from: { path: within('contract'), pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'tests-are-not-imported',
      severity: 'error',
      from: { pathNot: '(\\.test\\.ts$|/test/|^tests/|^bench/)' },
      to: { path: '(\\.test\\.ts$|/test/|^tests/)' },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node'],
      extensions: ['.ts', '.js', '.mjs'],
    },
  },
}
