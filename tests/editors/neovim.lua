-- A session in headless Neovim 0.11 with the configuration that we ship. Run by tests/editors.rs:
--   nvim --clean --headless -l tests/editors/neovim.lua KC FILE
local kc, file = arg[1], arg[2]
vim.opt.runtimepath:append('editors/neovim')
vim.lsp.config('kc', { cmd = { kc, 'lsp', '--stdio' } })
vim.lsp.enable('kc')
vim.opt.swapfile = false

local function check(what, value)
  if not value then
    error(what .. ' failed', 2)
  end
  print('ok ' .. what)
end

local function wait(what, condition)
  check(what, vim.wait(30000, condition, 20))
end

vim.cmd.edit(file)
vim.bo.filetype = 'python'
wait('attach', function() return #vim.lsp.get_clients({ name = 'kc', bufnr = 0 }) == 1 end)
local client = vim.lsp.get_clients({ name = 'kc', bufnr = 0 })[1]

local function find(text, shift)
  for line, content in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local column = content:find(text, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { line, column - 1 + (shift or 0) })
      return line, column - 1
    end
  end
  error('no ' .. text)
end

local function ask(method, extra)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  local answer = client:request_sync(method, vim.tbl_extend('force', params, extra or {}), 30000, 0)
  if not answer or answer.err then
    error(method .. ': ' .. vim.inspect(answer))
  end
  return answer.result
end

-- Findings, with the severity of an error.
wait('findings', function()
  return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 1
end)
check('source', vim.diagnostic.get(0)[1].source == 'kc')

find('sqrt(')
check('hover', ask('textDocument/hover').contents.value:find('adjoint', 1, true) ~= nil)
local target = ask('textDocument/definition')[1]
check('definition', vim.fn.filereadable(vim.uri_to_fname(target.uri)) == 1)
find('sqrt(', 2)
local items = ask('textDocument/completion').items
check('completion', #vim.tbl_filter(function(item) return item.label == 'sqrt' end, items) == 1)

-- The editor's own use of the answers: the fix of the error makes it go away.
find('i * 2.5')
local line = vim.api.nvim_win_get_cursor(0)[1] - 1
local range = { start = { line = line, character = 0 }, ['end'] = { line = line, character = 99 } }
local actions = ask('textDocument/codeAction', { range = range, context = { diagnostics = {}, only = { 'quickfix' } } })
local fix = vim.tbl_filter(function(action) return action.title:find('onvert') ~= nil end, actions)[1]
vim.lsp.util.apply_workspace_edit(fix.edit, client.offset_encoding)
wait('fix', function()
  return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0
end)

-- Text behind wide characters.
find('radius =')
vim.lsp.buf.rename('r')
wait('rename', function()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):find('字"); x[i] = r + y', 1, true) ~= nil
end)

check('tokens', client.server_capabilities.semanticTokensProvider ~= nil)
local hints = ask('textDocument/inlayHint', { range = { start = { line = 0, character = 0 }, ['end'] = { line = 99, character = 0 } } })
check('hints', #hints > 2)
local lenses = ask('textDocument/codeLens')
check('lenses', #lenses == 5)
-- The last one is filled when it is seen, and counts a launch.
local costs = client:request_sync('codeLens/resolve', lenses[5], 30000, 0).result.command
check('figures', costs.title:find('registers', 1, true) ~= nil and costs.title:find('of 64 warps', 1, true) ~= nil)
client:exec_cmd(costs, { bufnr = 0 })
wait('sectors', function()
  local range = { start = { line = 0, character = 0 }, ['end'] = { line = 99, character = 0 } }
  return vim.iter(ask('textDocument/inlayHint', { range = range })):any(function(hint)
    return hint.label:find('sectors', 1, true) ~= nil
  end)
end)
client:exec_cmd(lenses[3].command, { bufnr = 0 })
wait('view', function()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):find('kernel @k', 1, true) ~= nil
end)
-- The line of the root and what it becomes mark each other.
local function marked(buffer)
  local marks = vim.api.nvim_buf_get_extmarks(buffer, vim.api.nvim_get_namespaces().kc, 0, -1, {})
  return vim.tbl_map(function(mark)
    return vim.api.nvim_buf_get_lines(buffer, mark[2], mark[2] + 1, false)[1]
  end, marks)
end
local view = vim.api.nvim_get_current_buf()
local source = vim.fn.bufnr(file)
find('= sqrt')
vim.api.nvim_exec_autocmds('CursorMoved', { buffer = view })
check('marks in the source', #marked(source) == 1 and marked(source)[1]:find('wp.sqrt', 1, true) ~= nil)
vim.cmd.wincmd('p')
find('sqrt(')
vim.api.nvim_exec_autocmds('CursorMoved', { buffer = source })
local found = table.concat(marked(view), '\n')
check('marks in the view', found:find('sqrt', 1, true) ~= nil and #marked(source) == 0)
vim.cmd.wincmd('p')
vim.cmd.close()

client:stop()
wait('stop', function() return client:is_stopped() end)
print('all ok')
