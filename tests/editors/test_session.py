"""A session with pytest-lsp's client, which checks every message against the protocol's types. Run by tests/editors.rs
with the program in KC and the folder of this file as the working directory."""

import os
import pathlib

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

FILE = pathlib.Path(__file__).with_name("kernels.py")
URI = FILE.as_uri()
PARTICLES = FILE.with_name("particles.py")
TEXT = FILE.read_text(encoding="utf-8")


@pytest_lsp.fixture(
    params=["visual_studio_code", "neovim", "emacs"],
    config=ClientServerConfig(server_command=[os.environ["KC"], "lsp", "--stdio"]),
)
async def client(request, lsp_client: LanguageClient):
    parameters = types.InitializeParams(
        process_id=None, root_uri=None, capabilities=client_capabilities(request.param)
    )
    watched = []

    # What the editors' own clients do when they are asked to watch files.
    @lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams):
        watched.extend(registration.method for registration in params.registrations)

    await lsp_client.initialize_session(parameters)
    lsp_client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(uri=URI, language_id="python", version=1, text=TEXT)
        )
    )
    yield
    files = parameters.capabilities.workspace.did_change_watched_files
    asked = [types.WORKSPACE_DID_CHANGE_WATCHED_FILES] if files and files.dynamic_registration else []
    assert watched == asked
    await lsp_client.shutdown_session()


def position(part, shift=0, utf8=False):
    before = TEXT[: TEXT.index(part)]
    line = before.rsplit("\n", 1)[-1]
    width = len(line.encode()) if utf8 else len(line.encode("utf-16-le")) // 2
    return types.Position(before.count("\n"), width + shift)


def speaks_utf8(client):
    general = client.capabilities.general
    return general is not None and "utf-8" in (general.position_encodings or [])


def at(kind, part, shift=0, **more):
    return kind(text_document=types.TextDocumentIdentifier(URI), position=position(part, shift), **more)


def whole(kind, **more):
    return kind(text_document=types.TextDocumentIdentifier(URI), **more)


EVERYWHERE = types.Range(types.Position(0, 0), types.Position(99, 0))


async def findings(client):
    if client.capabilities.text_document.diagnostic is not None:
        report = await client.text_document_diagnostic_async(whole(types.DocumentDiagnosticParams))
        return report.items
    while URI not in client.diagnostics:
        await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return client.diagnostics[URI]


@pytest.mark.asyncio
async def test_findings(client):
    errors = [d for d in await findings(client) if d.severity == types.DiagnosticSeverity.Error]
    assert [(d.code, d.source, d.range.start.line) for d in errors] == [("E0301", "kc", 7)]


@pytest.mark.asyncio
async def test_places(client):
    hover = await client.text_document_hover_async(at(types.HoverParams, "sqrt("))
    assert "adjoint[x] +=" in hover.contents.value
    target = await client.text_document_definition_async(at(types.DefinitionParams, "sqrt("))
    assert "stdlib" in target[0].uri
    found = await client.text_document_completion_async(at(types.CompletionParams, "sqrt(", 2))
    item = next(item for item in found.items if item.label == "sqrt")
    assert "root" in (await client.completion_item_resolve_async(item)).documentation.value
    help = await client.text_document_signature_help_async(at(types.SignatureHelpParams, "x[i])"))
    assert help.signatures[0].label.startswith("sqrt(")
    context = types.ReferenceContext(include_declaration=True)
    places = await client.text_document_references_async(at(types.ReferenceParams, "radius", context=context))
    assert len(places) == 2
    marks = await client.text_document_document_highlight_async(at(types.DocumentHighlightParams, "radius"))
    assert [mark.kind for mark in marks] == [types.DocumentHighlightKind.Write, types.DocumentHighlightKind.Read]
    edit = await client.text_document_rename_async(at(types.RenameParams, "radius", new_name="r"))
    edits = edit.changes[URI] if edit.changes else edit.document_changes[0].edits
    assert edits[1].range.start == position("radius + y", utf8=speaks_utf8(client))


@pytest.mark.asyncio
async def test_file(client):
    names = await client.text_document_document_symbol_async(whole(types.DocumentSymbolParams))
    assert [symbol.name for symbol in names] == ["k"]
    tokens = await client.text_document_semantic_tokens_full_async(whole(types.SemanticTokensParams))
    assert len(tokens.data) % 5 == 0 and len(tokens.data) > 50
    hints = await client.text_document_inlay_hint_async(whole(types.InlayHintParams, range=EVERYWHERE))
    assert [hint.label for hint in hints][:2] == [": int32", ": float32"]
    folds = await client.text_document_folding_range_async(whole(types.FoldingRangeParams))
    assert folds[0].start_line == 3
    chain = await client.text_document_selection_range_async(
        whole(types.SelectionRangeParams, positions=[position("x[i])")])
    )
    assert chain[0].parent is not None
    lenses = await client.text_document_code_lens_async(whole(types.CodeLensParams))
    assert [lens.command.title for lens in lenses if lens.command] == ["PTX", "CUDA", "IR", "adjoint"]
    costs = await client.code_lens_resolve_async(next(lens for lens in lenses if not lens.command))
    assert costs.command.command == "kc.count"
    actions = await client.text_document_code_action_async(
        whole(types.CodeActionParams, range=EVERYWHERE, context=types.CodeActionContext(diagnostics=[]))
    )
    assert any("onvert" in action.title for action in actions)


@pytest.mark.asyncio
async def test_show(client):
    # The kernel has an error: there is nothing to show, and the client is told why.
    command = types.ExecuteCommandParams(command="kc.show", arguments=[URI, "k", "ir"])
    with pytest.raises(JsonRpcException, match="E0301"):
        await client.workspace_execute_command_async(command)


@pytest.mark.asyncio
async def test_lines_of_views(client):
    text = PARTICLES.read_text(encoding="utf-8")
    uri = PARTICLES.as_uri()
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(uri=uri, language_id="python", version=1, text=text)
        )
    )
    line = text[: text.index("wp.length")].count("\n")

    async def ask(method, **params):
        return await client.protocol.send_request_async(method, params)

    for view, word in [("ptx", "sqrt.rn.f32"), ("cuda", "length("), ("ir", "call @length"), ("adjoint", "adj_length(")]:
        shown = await ask("kc/view", uri=uri, kernel="density", view=view)
        rows = shown.text.splitlines()
        assert (shown.source, shown.version, len(shown.lines)) == (uri, 1, len(rows))
        found = [row for row, origins in zip(rows, shown.lines) if line in origins]
        assert any(word in row for row in found), (view, found)
        assert (await ask("kc/lines", uri=shown.uri)).lines == shown.lines
    with pytest.raises(JsonRpcException, match="no view"):
        await ask("kc/lines", uri="kc-view:/nothing")
