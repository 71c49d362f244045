import type { Readable, Writable } from 'node:stream'
import { StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node'
import {
  ConfigurationRequest,
  createProtocolConnection,
  type Diagnostic,
  DidOpenTextDocumentNotification,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  type InitializeResult,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  RegistrationRequest,
  ShutdownRequest,
  WorkDoneProgressCreateRequest,
} from 'vscode-languageserver-protocol'
import { until } from './until.ts'

/** Milliseconds for one answer of a server on an emulated CPU. */
const ANSWER_MS = 240_000

/** The editor's side of the language server protocol, over any pair of streams. */
export class LanguageClient {
  readonly connection: ProtocolConnection
  readonly #diagnostics = new Map<string, readonly Diagnostic[]>()

  constructor(output: Readable, input: Writable) {
    this.connection = createProtocolConnection(new StreamMessageReader(output), new StreamMessageWriter(input))
    this.connection.onNotification(PublishDiagnosticsNotification.type, ({ uri, diagnostics }) => {
      this.#diagnostics.set(uri, diagnostics)
    })
    // Requests from servers to the editor; some servers wait for the answers.
    this.connection.onRequest(ConfigurationRequest.type, ({ items }) => items.map(() => null))
    this.connection.onRequest(RegistrationRequest.type, () => undefined)
    this.connection.onRequest(WorkDoneProgressCreateRequest.type, () => undefined)
    this.connection.listen()
  }

  /** @param folder absolute path of the workspace, and the server's working directory */
  async initialize(folder: string): Promise<InitializeResult> {
    const rootUri = `file://${folder}`
    const result = await this.connection.sendRequest(InitializeRequest.type, {
      processId: null,
      rootUri,
      workspaceFolders: [{ uri: rootUri, name: 'workspace' }],
      // For TypeScript: one process instead of three. Other servers ignore it.
      initializationOptions: { disableAutomaticTypingAcquisition: true, tsserver: { useSyntaxServer: 'never' } },
      capabilities: {
        textDocument: { publishDiagnostics: {}, completion: {}, definition: {} },
        workspace: { configuration: true, workspaceFolders: true },
      },
    })
    await this.connection.sendNotification(InitializedNotification.type, {})
    return result
  }

  async open(path: string, languageId: string, text: string): Promise<void> {
    const textDocument = { uri: `file://${path}`, languageId, version: 1, text }
    await this.connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument })
  }

  /** The first non-empty list of diagnostics of this file. */
  async diagnostics(path: string): Promise<readonly Diagnostic[]> {
    return until(
      `diagnostics of ${path}`,
      () => {
        const list = this.#diagnostics.get(`file://${path}`)
        return list !== undefined && list.length > 0 && list
      },
      ANSWER_MS,
    )
  }

  /** Ends the session as an editor does; the server then exits by itself. */
  async shutDown(): Promise<void> {
    await this.connection.sendRequest(ShutdownRequest.type)
    await this.connection.sendNotification(ExitNotification.type)
  }
}
