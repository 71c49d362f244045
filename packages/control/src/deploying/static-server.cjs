// Serves the files of a site inside the sandbox that it was built in. Given to `node -e`, so that nothing has to be installed.
//
// Without threads, promises or streams for what is small: the files are in the guest's cache, and the first answer after a wake runs on
// a processor that has to learn every instruction anew.
'use strict'
const { createReadStream, existsSync, readFileSync, realpathSync, statSync } = require('node:fs')
const { createServer } = require('node:http')
const { extname, join, resolve, sep } = require('node:path')

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.htm': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.xml': 'application/xml; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.wasm': 'application/wasm',
  '.pdf': 'application/pdf',
  '.mp4': 'video/mp4',
  '.webmanifest': 'application/manifest+json',
}

/** Bytes of a file that is read at once. */
const MAX_WHOLE_BYTES = 256 * 1024

const wanted = (process.env.OFFSHOOT_FOLDERS || '.').split('\n')
const folder = resolve(wanted.find((name) => existsSync(join(name, 'index.html'))) || wanted[0])
const isSinglePage = process.env.OFFSHOOT_SINGLE_PAGE === '1'

/** The file that a path means; null where there is none, where it is hidden, and where a link leads out of the site. */
function fileOf(path) {
  if (path.includes('\0') || path.split('/').some((part) => part.startsWith('.') && part !== '.well-known')) return null
  try {
    const asked = join(folder, path)
    if (statSync(asked, { throwIfNoEntry: false }) === undefined) return null
    const found = realpathSync.native(asked)
    if (found !== folder && !found.startsWith(folder + sep)) return null
    const info = statSync(found)
    return info.isFile() ? { path: found, info } : null
  } catch {
    // A path through a file, links in a circle, or gone meanwhile.
    return null
  }
}

/** As they are, then as pages, then as the one page of an app that draws the others itself. */
function resolvePath(path) {
  const tries = path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`, `${path}/index.html`]
  for (const each of tries) {
    const file = fileOf(each)
    if (file !== null) return { ...file, status: 200, isFolder: each === `${path}/index.html` }
  }
  const fallback = fileOf(isSinglePage ? '/index.html' : '/404.html')
  if (fallback === null) return null
  return { ...fallback, status: isSinglePage && extname(path) === '' ? 200 : 404, isFolder: false }
}

function serve(request, response) {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end()
    return
  }
  const [rawPath, query = ''] = request.url.split(/\?(.*)/s)
  const path = decodeURIComponent(rawPath)
  const found = resolvePath(path)
  if (found === null) {
    response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n')
    return
  }
  if (found.isFolder) {
    // Else what the page names beside itself would be looked for one folder above.
    response.writeHead(308, { location: `${rawPath.replace(/^\/+/, '/')}/${query && `?${query}`}` }).end()
    return
  }
  const { info } = found
  const etag = `"${info.size.toString(36)}-${Math.floor(info.mtimeMs).toString(36)}"`
  const headers = {
    'content-type': TYPES[extname(found.path).toLowerCase()] || 'application/octet-stream',
    'last-modified': info.mtime.toUTCString(),
    etag,
    // Names with a hash of what they hold never hold anything else.
    'cache-control':
      /[.-][\w-]{8,}\.\w+$/.test(found.path) && !found.path.endsWith('.html')
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
  }
  if (found.status === 200 && request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end()
    return
  }
  if (info.size <= MAX_WHOLE_BYTES) {
    const body = readFileSync(found.path)
    response.writeHead(found.status, { ...headers, 'content-length': body.length }).end(body)
    return
  }
  response.writeHead(found.status, { ...headers, 'content-length': info.size })
  if (request.method === 'HEAD') response.end()
  else
    createReadStream(found.path)
      .on('error', () => response.destroy())
      .pipe(response)
}

createServer((request, response) => {
  try {
    serve(request, response)
  } catch {
    if (!response.headersSent) response.writeHead(400)
    response.end()
  }
}).listen(Number(process.env.PORT), () => console.log(`serving ${folder} on port ${process.env.PORT}`))
