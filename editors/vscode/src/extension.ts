// Starts `kc lsp` and shows the documents that it makes. Everything else is the server's work.

import * as vscode from 'vscode';
import {
    LanguageClient, type LanguageClientOptions, type ServerOptions, type ShowDocumentRequest,
} from 'vscode-languageclient/node';
import { endExplorers, explore } from './explore';
import { follow } from './follow';
import type { Lines } from './lines';

let client: LanguageClient | undefined;

const settings = () => {
    const all = vscode.workspace.getConfiguration('kc');
    return {
        warn: all.get('warn', []), deny: all.get('deny', []), allow: all.get('allow', []), arch: all.get('arch', 'sm_90'),
    };
};

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    await start();
    follow(context, linesOf);
    context.subscriptions.push(
        vscode.commands.registerCommand('kc.restart', async () => {
            await client?.stop();
            await start();
        }),
        vscode.commands.registerCommand('kc.showHere', showHere),
        vscode.commands.registerCommand('kc.explore', explore),
        vscode.workspace.onDidChangeConfiguration(async event => {
            if (event.affectsConfiguration('kc.path')) {
                await vscode.commands.executeCommand('kc.restart');
            } else if (event.affectsConfiguration('kc')) {
                await client?.sendNotification('workspace/didChangeConfiguration', { settings: { kc: settings() } });
            }
        }),
    );
}

export async function deactivate(): Promise<void> {
    endExplorers();
    await client?.stop();
}

/** Opens a view beside its source; other documents as usual. */
const beside: ShowDocumentRequest.MiddlewareSignature = async (params, token, next) => {
    const uri = vscode.Uri.parse(params.uri);
    if (uri.scheme !== 'kc-view') {
        return next(params, token);
    }
    const shown = vscode.window.visibleTextEditors.find(editor => editor.document.uri.scheme === uri.scheme);
    const viewColumn = shown?.viewColumn ?? vscode.ViewColumn.Beside;
    // The keyboard stays in the source: its lines show theirs in the view.
    await vscode.window.showTextDocument(uri, { viewColumn, preserveFocus: true, preview: false });
    return { success: true };
};

async function start(): Promise<void> {
    const command = vscode.workspace.getConfiguration('kc').get('path', 'kc');
    const server: ServerOptions = { command, args: ['lsp', '--stdio'] };
    const options: LanguageClientOptions = {
        documentSelector: [{ language: 'python' }],
        initializationOptions: settings(),
        middleware: { window: { showDocument: beside } },
    };
    client = new LanguageClient('kc', 'kc', server, options);
    try {
        await client.start();
    } catch (error) {
        const choice = await vscode.window.showErrorMessage(`kc could not start \`${command}\`: ${error}`, 'Settings');
        if (choice === 'Settings') {
            await vscode.commands.executeCommand('workbench.action.openSettings', 'kc.path');
        }
    }
}

/** Where the lines of a view come from. */
async function linesOf(view: vscode.Uri): Promise<Lines | undefined> {
    try {
        return await client?.sendRequest<Lines>('kc/lines', { uri: view.toString() });
    } catch {
        // A view of an earlier session: the server does not know it.
        return undefined;
    }
}

/** Asks which view of the kernel around the cursor is wanted, and shows it. */
async function showHere(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || !client) {
        return;
    }
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
        'vscode.executeCodeLensProvider', editor.document.uri, 1000);
    const line = editor.selection.active.line;
    const ours = lenses.filter(lens => lens.command?.command === 'kc.show' && lens.range.start.line <= line);
    const nearest = Math.max(...ours.map(lens => lens.range.start.line));
    const here = ours.filter(lens => lens.range.start.line === nearest);
    const choice = await vscode.window.showQuickPick(here.map(lens => lens.command?.title ?? ''));
    const command = here.find(lens => lens.command?.title === choice)?.command;
    if (command) {
        await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
    }
}
