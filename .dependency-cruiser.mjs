/**
 * Enforces the import direction of ARCHITECTURE.md (`npm run imports`):
 * kit ← contract ← {qmp, guest-link, agent, control, edge, e2b, up}; {qmp, guest-link} ← agent;
 * inside the agent: store ← machine ← sandbox ← http; inside control: platform ← fleet ← the kinds, in their order;
 * inside each layer, and inside kit, edge, e2b and up: the folders, in their order.
 */
const within = (...names) => `^packages/(${names.join('|')})/`

const layer = (name, ...allowed) => ({
  name: `${name}-imports-only-${allowed.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: within(name) },
  to: { path: '^(packages|tests|bench)/', pathNot: within(name, ...allowed) },
})

const inOrder = (...rows) => rows.flatMap((row) => row.split(' '))

const AGENT = '^packages/agent/src/'
/** Tests and their support may use any layer. */
const AGENT_TESTS = '(\\.test\\.ts$|^packages/agent/src/test/)'

/**
 * The four layers of the agent with their folders, both from the lowest to the highest. A layer imports only itself and
 * lower layers. A folder imports only itself and lower folders of its layer. Files directly in a layer may import all
 * its folders. The wiring (`agent.ts`, `main.ts`) is above all layers.
 */
const agentLayers = {
  store: inOrder(
    'data-dir ledger disks volumes bakes checkpoints templates sandboxes snapshots',
    'archives objects builds events logs credit lease moves',
  ),
  machine: inOrder('host vm network slots disks guest restore bakes capture zygotes probe'),
  sandbox: inOrder(
    'metrics pool model events cleanup commands terminals files ports ssh code lsp archives objects volumes',
    'start logs templates lifecycle snapshots builds recovery moves',
  ),
  http: inOrder('request streams metrics files'),
}

/** The machine layer does not know which sandbox a VM belongs to. */
const OWNERS = ['archives', 'builds', 'credit', 'events', 'moves', 'sandboxes', 'snapshots', 'templates']

const agentRules = Object.entries(agentLayers).flatMap(([layer, folders], index, layers) => {
  const allowed = layers.slice(0, index + 1).map(([name]) => name)
  const from = { path: `${AGENT}${layer}/`, pathNot: AGENT_TESTS }
  return [
    {
      name: `agent-${layer}-imports-only-${allowed.join('-')}`,
      severity: 'error',
      from,
      to: { path: AGENT, pathNot: `${AGENT}(${allowed.join('|')})/` },
    },
    {
      name: `agent-${layer}-has-only-ordered-folders`,
      severity: 'error',
      from: { path: `${AGENT}${layer}/[^/]+/`, pathNot: [`${AGENT}${layer}/(${folders.join('|')})/`, AGENT_TESTS] },
      to: { path: '^packages/' },
    },
    ...folders.map((folder, place) => ({
      name: `agent-${layer}-${folder}-imports-only-folders-below`,
      severity: 'error',
      from: { path: `${AGENT}${layer}/${folder}/`, pathNot: AGENT_TESTS },
      to: { path: `${AGENT}${layer}/`, pathNot: `${AGENT}${layer}/(${folders.slice(0, place + 1).join('|')})/` },
    })),
  ]
})

const CONTROL = '^packages/control/src/'
const CONTROL_TESTS = '(\\.test\\.ts$|^packages/control/src/test/)'

/**
 * The layers of control with their folders, both from the lowest to the highest. A kind may import the platform, the
 * fleet and the kinds before it. A folder imports only itself and lower folders of its layer; `.` stands for the files
 * directly in the layer. The wiring (`control.ts`, `server.ts`, `main.ts`) is above all layers.
 */
const controlLayers = {
  platform: inOrder('db audit limits secrets http jobs mail . idempotency'),
  fleet: inOrder('. placement proxy'),
  'kinds/orgs': inOrder('identity audit changes operators ssh .'),
  'kinds/billing': inOrder('model limits metering .'),
  'kinds/templates': ['.'],
  'kinds/volumes': ['.'],
  'kinds/sandboxes': inOrder('lsp model events lineage lifecycle ports links snapshots forks copies moves artifacts .'),
  'kinds/databases': inOrder('model stored-archives broker .'),
  'kinds/apps': inOrder(
    'model links preview-access certificates deployments previews domains git-provider project dependency-cache deploying instances .',
  ),
  'kinds/webhooks': inOrder('model delivery .'),
  mcp: ['.'],
}

const controlRules = Object.entries(controlLayers).flatMap(([layer, folders], index, layers) => {
  const name = `control-${layer.replace('/', '-')}`
  const inLayer = `${CONTROL}${layer}/`
  const pathOf = (folder) => (folder === '.' ? `${inLayer}[^/]+$` : `${inLayer}${folder}/`)
  const below = layers.slice(0, index + 1).map(([each]) => each)
  return [
    {
      name: `${name}-imports-only-what-is-below`,
      severity: 'error',
      from: { path: inLayer, pathNot: CONTROL_TESTS },
      to: { path: CONTROL, pathNot: `${CONTROL}(${below.join('|')})/` },
    },
    {
      name: `${name}-has-only-ordered-folders`,
      severity: 'error',
      from: { path: inLayer, pathNot: [...folders.map(pathOf), CONTROL_TESTS] },
      to: { path: '^packages/' },
    },
    ...folders.map((folder, place) => ({
      name: `${name}-${folder === '.' ? 'files' : folder}-imports-only-folders-below`,
      severity: 'error',
      from: { path: pathOf(folder), pathNot: CONTROL_TESTS },
      to: { path: inLayer, pathNot: folders.slice(0, place + 1).map(pathOf) },
    })),
  ]
})

/** The folders of smaller packages, lowest first; `.` stands for the files directly in `src`. */
const packageFolders = {
  kit: inOrder('. objects otlp ssh x509'),
  edge: inOrder('agents http limits apps hosts access certificates postgres ssh preview front .'),
  up: inOrder('base rootless images host services join config doctor backup support-bundle systemd packed .'),
  e2b: inOrder('generated control base api envd code ports .'),
  sdk: inOrder('generated http sandboxes resources .'),
  cli: inOrder(
    'frame terminal copy completion mcp server key host ssh sandbox snapshot template database volume app account .',
  ),
}

const packageRules = Object.entries(packageFolders).flatMap(([name, folders]) => {
  const src = `^packages/${name}/src/`
  const tests = `(\\.test\\.ts$|${src}test/)`
  const pathOf = (folder) => (folder === '.' ? `${src}[^/]+$` : `${src}${folder}/`)
  return [
    {
      name: `${name}-has-only-ordered-folders`,
      severity: 'error',
      from: { path: src, pathNot: [...folders.map(pathOf), tests] },
      to: { path: '^packages/' },
    },
    ...folders.map((folder, place) => ({
      name: `${name}-${folder === '.' ? 'files' : folder}-imports-only-folders-below`,
      severity: 'error',
      from: { path: pathOf(folder), pathNot: tests },
      to: { path: src, pathNot: folders.slice(0, place + 1).map(pathOf) },
    })),
  ]
})

export default {
  forbidden: [
    ...agentRules,
    ...controlRules,
    ...packageRules,
    {
      name: 'agent-store-does-not-know-that-vms-run',
      severity: 'error',
      from: { path: `${AGENT}store/`, pathNot: AGENT_TESTS },
      to: { path: within('qmp', 'guest-link') },
    },
    {
      name: 'agent-machine-does-not-know-owners-of-vms',
      severity: 'error',
      from: { path: `${AGENT}machine/`, pathNot: AGENT_TESTS },
      to: { path: `${AGENT}store/(${OWNERS.join('|')})/` },
    },
    {
      name: 'agent-only-the-machine-starts-processes',
      severity: 'error',
      from: { path: `${AGENT}(store|sandbox|http)/`, pathNot: AGENT_TESTS },
      to: { path: '^(node:)?child_process$' },
    },
    {
      name: 'agent-concerns-of-a-sandbox-touch-no-file-or-socket',
      severity: 'error',
      from: {
        path: `${AGENT}sandbox/(archives|builds|cleanup|commands|events|files|lifecycle|logs|lsp|pool|ports|recovery|start|templates|terminals)/`,
        pathNot: AGENT_TESTS,
      },
      to: { path: '^(node:)?(fs(/promises)?|net)$' },
    },
    {
      name: 'agent-http-touches-no-file',
      severity: 'error',
      from: { path: `${AGENT}http/`, pathNot: AGENT_TESTS },
      to: { path: '^(node:)?fs(/promises)?$' },
    },
    layer('kit'),
    layer('contract', 'kit'),
    layer('qmp', 'contract', 'kit'),
    layer('guest-link', 'contract', 'kit'),
    layer('agent', 'qmp', 'guest-link', 'contract', 'kit'),
    layer('control', 'contract', 'kit'),
    layer('edge', 'contract', 'kit'),
    layer('up', 'contract', 'kit'),
    layer('e2b', 'contract', 'kit'),
    // A client knows only what the API publishes.
    layer('sdk'),
    layer('cli', 'sdk', 'contract'),
    layer('console', 'sdk'),
    layer('docs'),
    {
      name: 'contract-does-no-input-or-output',
      severity: 'error',
      from: { path: within('contract'), pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-unresolved',
      severity: 'error',
      // Those programs run beside packages that tests install.
      from: { pathNot: '^tests/setup/frameworks/' },
      to: { couldNotResolve: true },
    },
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
    // What packages/sdk/build.mjs writes.
    exclude: { path: '^packages/sdk/dist/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node'],
      extensions: ['.ts', '.tsx', '.js', '.mjs'],
    },
  },
}
