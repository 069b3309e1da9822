// Marks the lines of a view that come from the selected lines of its source, and the other way round.

import * as vscode from 'vscode';
import { generated, origins, runs, type Lines } from './lines';

/** Asks the server for the lines of a view; undefined when it has none. */
export type Ask = (view: vscode.Uri) => Promise<Lines | undefined>;

const SCHEME = 'kc-view';

export function follow(context: vscode.ExtensionContext, ask: Ask): void {
    const mark = vscode.window.createTextEditorDecorationType({
        isWholeLine: true,
        backgroundColor: new vscode.ThemeColor('editor.wordHighlightStrongBackground'),
        overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.wordHighlightStrongForeground'),
        overviewRulerLane: vscode.OverviewRulerLane.Center,
    });
    // One question for each text of a view.
    const known = new Map<string, { version: number; lines: Promise<Lines | undefined> }>();
    const linesOf = (view: vscode.TextDocument): Promise<Lines | undefined> => {
        const key = view.uri.toString();
        let entry = known.get(key);
        if (entry?.version !== view.version) {
            entry = { version: view.version, lines: ask(view.uri) };
            known.set(key, entry);
        }
        return entry.lines;
    };
    context.subscriptions.push(
        mark,
        vscode.window.onDidChangeTextEditorSelection(event => show(event.textEditor)),
        vscode.window.onDidChangeVisibleTextEditors(() => {
            const active = vscode.window.activeTextEditor;
            return active ? show(active) : undefined;
        }),
        vscode.workspace.onDidChangeTextDocument(async event => {
            const active = vscode.window.activeTextEditor;
            if (active && (event.document === active.document || event.document.uri.scheme === SCHEME)) {
                await show(active);
            }
        }),
        vscode.workspace.onDidCloseTextDocument(document => known.delete(document.uri.toString())),
    );

    async function show(editor: vscode.TextEditor): Promise<void> {
        const { start, end } = editor.selection;
        if (editor.document.uri.scheme === SCHEME) {
            const lines = await linesOf(editor.document);
            for (const other of vscode.window.visibleTextEditors) {
                if (lines && shows(other, lines)) {
                    paint(other, current(other, lines) ? origins(lines, start.line, end.line) : []);
                }
            }
            return;
        }
        for (const view of vscode.window.visibleTextEditors) {
            if (view.document.uri.scheme === SCHEME) {
                const lines = await linesOf(view.document);
                if (lines && shows(editor, lines)) {
                    editor.setDecorations(mark, []);
                    paint(view, current(editor, lines) ? generated(lines, start.line, end.line) : []);
                }
            }
        }
    }

    /** Whether an editor shows the source of a view. */
    function shows(editor: vscode.TextEditor, lines: Lines): boolean {
        return editor.document.uri.toString() === vscode.Uri.parse(lines.source).toString();
    }

    /** Whether the view was made from what the editor shows now; after an edit the lines would be wrong. */
    function current(editor: vscode.TextEditor, lines: Lines): boolean {
        return editor.document.version === lines.version;
    }

    function paint(editor: vscode.TextEditor, lines: readonly number[]): void {
        const ranges = runs(lines).map(([first, last]) => new vscode.Range(first, 0, last, 0));
        editor.setDecorations(mark, ranges);
        const seen = ranges.some(range => editor.visibleRanges.some(visible => visible.intersection(range)));
        if (ranges.length > 0 && !seen) {
            editor.revealRange(ranges[0], vscode.TextEditorRevealType.InCenterIfOutsideViewport);
        }
    }
}
