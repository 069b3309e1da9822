// Opens `kc explore` of a file in the browser. Each file has one server, which ends with the editor.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';

const servers = new Map<string, { process: ChildProcess; address: string }>();

export async function explore(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (!document || document.languageId !== 'python' || document.isUntitled) {
        void vscode.window.showInformationMessage('The explorer shows a Python file: open one with kernels.');
        return;
    }
    // It watches the file on the disk.
    await document.save();
    const file = document.uri.fsPath;
    const known = servers.get(file);
    const address = known?.process.exitCode === null ? known.address : await start(file);
    if (address) {
        await vscode.env.openExternal(await vscode.env.asExternalUri(vscode.Uri.parse(address)));
    }
}

/** The address of a new server. */
async function start(file: string): Promise<string | undefined> {
    const command = vscode.workspace.getConfiguration('kc').get('path', 'kc');
    const arch = vscode.workspace.getConfiguration('kc').get('arch', 'sm_90');
    const process = spawn(command, ['explore', file, '--arch', arch], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    process.stderr.on('data', data => { said += String(data); });
    const address = await new Promise<string | undefined>(done => {
        createInterface({ input: process.stdout }).once('line', done);
        process.once('error', error => { said = error.message; done(undefined); });
        process.once('exit', () => done(undefined));
    });
    if (!address) {
        void vscode.window.showErrorMessage(`kc could not explore ${file}: ${said}`);
        return undefined;
    }
    servers.set(file, { process, address });
    return address;
}

export function endExplorers(): void {
    servers.forEach(({ process }) => process.kill());
    servers.clear();
}
