import { createRoot } from 'react-dom/client'
import './style.css'

const root = document.querySelector('#root')
if (root === null) throw new Error('index.html has no #root')
createRoot(root).render(<h1>Offshoot</h1>)
