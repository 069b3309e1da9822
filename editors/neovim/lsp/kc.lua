-- Neovim 0.11: put this file into `lsp/` of a runtime folder, then `vim.lsp.enable('kc')`.

-- Marks what comes from the line of the cursor: in the view while the cursor is in the source, and the other way round.
local marks = vim.api.nvim_create_namespace('kc')
local function follow(source, view, lines)
  local changed = vim.api.nvim_buf_get_changedtick(source)
  local function show(buffer, wanted)
    vim.api.nvim_buf_clear_namespace(buffer, marks, 0, -1)
    for _, line in ipairs(wanted) do
      vim.api.nvim_buf_set_extmark(buffer, marks, line, 0, { line_hl_group = 'Visual' })
    end
    local window = vim.fn.bufwinid(buffer)
    if wanted[1] and window ~= -1 then
      local first, last = vim.fn.line('w0', window), vim.fn.line('w$', window)
      if wanted[1] + 1 < first or wanted[1] + 1 > last then
        vim.api.nvim_win_set_cursor(window, { wanted[1] + 1, 0 })
      end
    end
  end
  local function moved()
    if not vim.api.nvim_buf_is_valid(view) then
      vim.api.nvim_buf_clear_namespace(source, marks, 0, -1)
      return true -- The end of this command.
    end
    local here, wanted = vim.fn.line('.') - 1, {}
    local in_view = vim.api.nvim_get_current_buf() == view
    -- After an edit the lines are others.
    if vim.api.nvim_buf_get_changedtick(source) == changed then
      for line, from in ipairs(lines) do
        for _, origin in ipairs(from) do
          if in_view and line - 1 == here then
            table.insert(wanted, origin)
          elseif not in_view and origin == here and wanted[#wanted] ~= line - 1 then
            table.insert(wanted, line - 1)
          end
        end
      end
    end
    vim.api.nvim_buf_clear_namespace(in_view and view or source, marks, 0, -1)
    show(in_view and source or view, wanted)
  end
  for _, buffer in ipairs({ source, view }) do
    vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI' }, { buffer = buffer, callback = moved })
  end
end

return {
  cmd = { 'kc', 'lsp', '--stdio' },
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', 'setup.py', '.git' },
  commands = {
    -- The views of a kernel open beside the source.
    ['kc.show'] = function(command, context)
      local uri, kernel, view = unpack(command.arguments)
      local client = assert(vim.lsp.get_client_by_id(context.client_id))
      client:request('kc/view', { uri = uri, kernel = kernel, view = view }, function(fault, answer)
        if fault then
          return vim.notify(fault.message, vim.log.levels.ERROR)
        end
        local source = vim.uri_to_bufnr(uri)
        local buffer = vim.api.nvim_create_buf(false, true)
        vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(answer.text, '\n'))
        vim.bo[buffer].filetype = ({ ptx = 'asm', cu = 'cuda' })[answer.language] or ''
        vim.bo[buffer].modifiable = false
        vim.bo[buffer].bufhidden = 'wipe'
        vim.cmd.vsplit()
        vim.api.nvim_win_set_buf(0, buffer)
        follow(source, buffer, answer.lines)
      end)
    end,
  },
}
