// Prints the comments of the contract's schemas and their fields as JSON: {"<export>": {"": "…", "<field>.<field>": "…"}}.
// OpenAPI shows them as descriptions. A field that comes from another schema (`...fields`, `base.extend({…})`) has the
// comment that it has there.
//
//     node bin/lib/describe-schemas.mjs > packages/contract/src/descriptions.json
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseSync } from 'oxc-parser'

const FOLDER = 'packages/contract/src'

/** Each module by its file name: the declarations at its top, its imports and its comments by where they end. */
const modules = new Map(globSync('*.ts', { cwd: FOLDER }).map((file) => [file, parse(file)]))

function parse(file) {
  const source = readFileSync(join(FOLDER, file), 'utf8')
  const { program, comments, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`)
  const declarations = new Map()
  const imports = new Map()
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration' && statement.source.value.startsWith('./')) {
      for (const { local, imported } of statement.specifiers) {
        if (imported) imports.set(local.name, [basename(statement.source.value), imported.name])
      }
    }
    const isExported = statement.type === 'ExportNamedDeclaration'
    const declaration = isExported ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration') continue
    for (const { id, init } of declaration.declarations) {
      declarations.set(id.name, { init, isExported, comment: commentBefore(source, comments, statement.start) })
    }
  }
  return { source, comments, declarations, imports }
}

/** The text of the documentation comment that ends where `position` begins, without its tags. */
function commentBefore(source, comments, position) {
  const comment = comments.findLast(({ end }) => end <= position)
  if (
    comment?.type !== 'Block' ||
    !comment.value.startsWith('*') ||
    source.slice(comment.end, position).trim() !== ''
  ) {
    return undefined
  }
  const text = comment.value.replaceAll(/^[ *]+/gm, '').replace(/^@[^]*$/m, '')
  return (
    text
      .replaceAll(/\{@link ([^}]+)\}/g, '$1')
      .replaceAll(/\s+/g, ' ')
      .trim() || undefined
  )
}

/** The comments of a schema's fields. `node` is any expression; objects in it hold the fields. */
function* fieldsOf(file, node, path) {
  const { source, comments, declarations, imports } = modules.get(file)
  switch (node?.type) {
    case 'Identifier': {
      const own = declarations.get(node.name)
      const [otherFile, name] = imports.get(node.name) ?? []
      const other = modules.get(otherFile)?.declarations.get(name)
      if (own) yield* fieldsOf(file, own.init, path)
      else if (other) yield* fieldsOf(otherFile, other.init, path)
      break
    }
    case 'CallExpression':
      yield* fieldsOf(file, node.callee, path)
      for (const argument of node.arguments) yield* fieldsOf(file, argument, path)
      break
    case 'MemberExpression':
      yield* fieldsOf(file, node.object, path)
      break
    case 'SpreadElement':
      yield* fieldsOf(file, node.argument, path)
      break
    case 'ArrayExpression':
      for (const element of node.elements) yield* fieldsOf(file, element, path)
      break
    case 'ObjectExpression':
      for (const property of node.properties) {
        if (property.type === 'SpreadElement') yield* fieldsOf(file, property, path)
        if (property.type !== 'Property' || property.key.type !== 'Identifier') continue
        const name = [...path, property.key.name]
        const comment = commentBefore(source, comments, property.start)
        if (comment) yield [name.join('.'), comment]
        yield* fieldsOf(file, property.value, name)
      }
      break
    default:
  }
}

const described = [...modules].flatMap(([file, { declarations }]) =>
  [...declarations].flatMap(([name, { init, isExported, comment }]) => {
    if (!isExported || init?.type !== 'CallExpression') return []
    const fields = [...(comment ? [['', comment]] : []), ...fieldsOf(file, init, [])]
    return fields.length === 0 ? [] : [[name, Object.fromEntries(fields)]]
  }),
)
console.log(JSON.stringify(Object.fromEntries(described.toSorted(([a], [b]) => (a < b ? -1 : 1))), null, 2))
