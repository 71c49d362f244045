/** Small, typical repositories of the supported frameworks. Each page sets its title when its script runs. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface FrameworkApp {
  readonly files: Readonly<Record<string, string>>
  /** Fields of the app that the repository cannot provide. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** The framework that the deploy must detect. */
  readonly framework: string
  /** Whether to write npm's lock file. */
  readonly hasLock?: boolean
  /** An expression that is true in the page once the page works. */
  readonly works: string
}

/** Runs npm to write the lock file of the package in a folder, from this machine's registry. */
export async function writeLock(folder: string): Promise<void> {
  await promisify(execFile)('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { cwd: folder })
}

const style = 'body { font: 20px sans-serif; margin: 3em; background: #eef }'
const json = (value: object) => JSON.stringify(value, null, 2)

const site: FrameworkApp = {
  framework: 'static',
  files: {
    'index.html': `<!doctype html><title>wait</title><link rel=stylesheet href=style.css><h1>A site</h1><a href=about>About</a><script type=module src=main.js></script>`,
    'about.html': '<!doctype html><title>About</title><h1>About</h1>',
    'style.css': style,
    'main.js': `const about = await (await fetch('/about')).text(); document.title = about.includes('<h1>About') ? 'alive' : 'no'`,
  },
  works: `document.title === 'alive' && getComputedStyle(document.body).backgroundColor === 'rgb(238, 238, 255)'`,
}

const viteReact: FrameworkApp = {
  framework: 'vite',
  hasLock: true,
  files: {
    'package.json': json({
      private: true,
      type: 'module',
      scripts: { build: 'vite build' },
      dependencies: { react: '19.2.0', 'react-dom': '19.2.0' },
      devDependencies: { vite: '8.3.8', '@vitejs/plugin-react': '6.0.1' },
    }),
    'vite.config.js': `import react from '@vitejs/plugin-react'\nexport default { plugins: [react()] }\n`,
    'index.html': `<!doctype html><title>wait</title><div id=root></div><script type=module src=/src/main.jsx></script>`,
    'src/main.jsx': `import { createRoot } from 'react-dom/client'
import { useEffect, useState } from 'react'
import './style.css'
function App() {
  const [count, setCount] = useState(0)
  useEffect(() => { document.title = 'alive' }, [])
  return <><h1>Vite and React at {location.pathname}</h1><button onClick={() => setCount(count + 1)}>{count}</button></>
}
createRoot(document.querySelector('#root')).render(<App />)
`,
    'src/style.css': style,
  },
  works: `(() => {
    const button = document.querySelector('button')
    if (button?.textContent === '0') button.click()
    return document.title === 'alive' && button?.textContent === '1'
  })()`,
}

const next: FrameworkApp = {
  framework: 'nextjs',
  hasLock: true,
  files: {
    'package.json': json({
      private: true,
      scripts: { build: 'next build', start: 'next start' },
      dependencies: { next: '15.5.6', react: '19.2.0', 'react-dom': '19.2.0' },
    }),
    'app/layout.js': `import './style.css'
export const metadata = { title: 'Next.js' }
export default function Layout({ children }) { return <html lang="en"><body>{children}</body></html> }
`,
    'app/style.css': style,
    'app/page.js': `import Counter from './counter'
export const dynamic = 'force-dynamic'
export default function Page() { return <><h1>Next.js on {process.version}</h1><Counter /></> }
`,
    'app/counter.js': `'use client'
import { useState } from 'react'
export default function Counter() {
  const [count, setCount] = useState(0)
  return <button onClick={() => setCount(count + 1)}>{count}</button>
}
`,
    'app/api/hello/route.js': `export async function GET() { return Response.json({ hello: 'there' }) }\n`,
  },
  works: `(async () => {
    const button = document.querySelector('button')
    if (button?.textContent === '0') button.click()
    const { hello } = await (await fetch('/api/hello')).json()
    return hello === 'there' && button?.textContent === '1'
  })()`,
}

/** Its page shows text received over a WebSocket. */
export const express: FrameworkApp = {
  framework: 'node',
  hasLock: true,
  files: {
    'package.json': json({
      private: true,
      scripts: { start: 'node server.js' },
      dependencies: { express: '5.1.0', ws: '8.18.3' },
    }),
    'server.js': `const express = require('express')
const { WebSocketServer } = require('ws')
const app = express()
app.get('/', (request, response) => response.send(\`<!doctype html><title>wait</title><style>${style}</style><h1>Express</h1><p>
<script>const socket = new WebSocket(location.href.replace('http', 'ws') + 'chat')
socket.onopen = () => socket.send('hello')
socket.onmessage = ({ data }) => { document.querySelector('p').textContent = data; document.title = 'alive' }</script>\`))
const server = app.listen(process.env.PORT)
new WebSocketServer({ server, path: '/chat' }).on('connection', (socket) =>
  socket.on('message', (data) => socket.send('you said ' + data)))
`,
  },
  works: `document.title === 'alive' && document.querySelector('p').textContent === 'you said hello'`,
}

/** Its dependency is a folder of its own, so that its lock file names no registry. */
const yarn1: FrameworkApp = {
  framework: 'node',
  files: {
    'package.json': json({
      private: true,
      scripts: { start: 'node server.js' },
      dependencies: { greeting: 'link:./greeting' },
    }),
    'yarn.lock':
      '# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.\n# yarn lockfile v1\n\n\n"greeting@link:./greeting":\n  version "0.0.0"\n  uid ""\n',
    'greeting/package.json': json({ name: 'greeting', version: '1.0.0' }),
    'greeting/index.js': `module.exports = 'alive'\n`,
    'server.js': `require('node:http')
  .createServer((request, response) => response.end('<!doctype html><title>' + require('greeting') + '</title>'))
  .listen(process.env.PORT)
`,
  },
  works: `document.title === 'alive'`,
}

const flask: FrameworkApp = {
  framework: 'python',
  fields: { install_command: 'apt-get -q update && apt-get -qy --no-install-recommends install python3-flask' },
  files: {
    'requirements.txt': 'flask\n',
    'app.py': `import os
from flask import Flask, jsonify, render_template
app = Flask(__name__)
@app.get('/')
def page():
    return render_template('page.html', words='from a template')
@app.get('/api')
def api():
    return jsonify(hello='there')
if __name__ == '__main__':
    app.run(host='0.0.0.0', port=int(os.environ['PORT']))
`,
    'templates/page.html': `<!doctype html><title>wait</title><style>${style}</style><h1>Flask</h1><p>{{ words }}</p>
<script type=module>document.title = (await (await fetch('/api')).json()).hello === 'there' ? 'alive' : 'no'</script>`,
  },
  works: `document.title === 'alive' && document.querySelector('p').textContent === 'from a template'`,
}

export const frameworkApps: Readonly<Record<string, FrameworkApp>> = {
  static: site,
  vite: viteReact,
  next,
  express,
  yarn1,
  flask,
}
