-- Neovim 0.11: put this file into `lsp/` of a runtime folder, then `vim.lsp.enable('kc')`.
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
        local buffer = vim.api.nvim_create_buf(false, true)
        vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(answer.text, '\n'))
        vim.bo[buffer].filetype = ({ ptx = 'asm', cu = 'cuda' })[answer.language] or ''
        vim.bo[buffer].modifiable = false
        vim.bo[buffer].bufhidden = 'wipe'
        vim.cmd.vsplit()
        vim.api.nvim_win_set_buf(0, buffer)
      end)
    end,
  },
}
