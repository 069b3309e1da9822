# === cyclic_automaton
# source: cyclic cellular automata (Fisch, Gravner and Griffeath 1991)
# task: step a cyclic automaton in which a cell takes the next colour if enough neighbours have it
# domain: generic
# weight: 5
# sizes: ny = 2 4 8 48; nx = 3 5 9 48
# - cells: int[ny, nx] uniform(0, 4); colours
# - next_cells: int[ny, nx] zeros; colours after the step
# - changed: int[1] zeros; cells that took another colour
# - COLORS: int = 4; number of colours
# - threshold: int = 2; neighbours that are needed
@kernel[ny, nx] stencil, atomic counter
def step_cells():
    """Count the neighbours of the next colour in the square around a cell; the grid is periodic."""
    grid i, j
    guard i < ny and j < nx
    own = cells[i, j]
    wanted = (own + 1) % COLORS
    count = int(0)
    for di in range(-1, 2):
        for dj in range(-1, 2):
            #? around
            if cells[(i + di + ny) % ny, (j + dj + nx) % nx] == wanted:
                count += 1
            #|
            let other = cells[(i + di + ny) % ny, (j + dj + nx) % nx]
            count += wp.where(other == wanted, 1, 0)
            #.
    if count >= threshold:
        next_cells[i, j] = wanted
        wp.atomic_add(changed, 0, 1)
    else:
        next_cells[i, j] = own

def reference():
    """Every cell votes for its own colour around it."""
    for i in range(ny):
        for j in range(nx):
            votes = 0
            for di in range(3):
                for dj in range(3):
                    y = (i + ny - di + 1) % ny
                    x = (j + nx - dj + 1) % nx
                    if (cells[y, x] - cells[i, j] + COLORS) % COLORS == 1:
                        votes = votes + 1
            next_cells[i, j] = cells[i, j]
            if votes > threshold - 1:
                next_cells[i, j] = (cells[i, j] + 1) % COLORS
                changed[0] = changed[0] + 1

# === sandpile
# source: the abelian sandpile (Bak, Tang and Wiesenfeld 1987)
# task: topple a sandpile once, all cells at the same time, and count the grains that fall off the table
# domain: physics
# weight: 5
# split: test
# sizes: ny = 1 4 8 48; nx = 2 5 9 48
# - grains: int[ny, nx] uniform(0, 9); grains
# - sent: int[ny, nx] zeros; grains that a cell gives to each neighbour
# - after: int[ny, nx] zeros; grains after the toppling
# - lost: int[1] zeros; grains that fell off
@kernel[ny, nx] elementwise map, boundary condition, atomic reduction
def topple():
    """Four grains or more: one to each side, as often as it goes."""
    grid i, j
    guard i < ny and j < nx
    share = grains[i, j] // 4
    sent[i, j] = share
    #? edge
    sides = int(0)
    if i == 0:
        sides += 1
    if i == ny - 1:
        sides += 1
    if j == 0:
        sides += 1
    if j == nx - 1:
        sides += 1
    #|
    sides = wp.where(i == 0, 1, 0) + wp.where(i == ny - 1, 1, 0)
    sides += wp.where(j == 0, 1, 0) + wp.where(j == nx - 1, 1, 0)
    #.
    if sides > 0:
        wp.atomic_add(lost, 0, sides * share)

@kernel[ny, nx] stencil, boundary condition
def collect():
    """What stays and what the neighbours gave."""
    grid i, j
    guard i < ny and j < nx
    g = grains[i, j] - 4 * sent[i, j]
    if i > 0:
        g += sent[i - 1, j]
    if i < ny - 1:
        g += sent[i + 1, j]
    if j > 0:
        g += sent[i, j - 1]
    if j < nx - 1:
        g += sent[i, j + 1]
    after[i, j] = g

def reference():
    """Scatter; what is lost is what is missing at the end."""
    for i in range(ny):
        for j in range(nx):
            lost[0] = lost[0] + grains[i, j]
            sent[i, j] = (grains[i, j] - grains[i, j] % 4) // 4
            after[i, j] = after[i, j] + grains[i, j] % 4
            for d in range(4):
                y = i + (d % 2) * (d - 2)
                x = j + ((d + 1) % 2) * (d - 1)
                if y >= 0 and y < ny and x >= 0 and x < nx:
                    after[y, x] = after[y, x] + sent[i, j]
    for i in range(ny):
        for j in range(nx):
            lost[0] = lost[0] - after[i, j]

# === forest_fire
# source: the forest-fire model (Drossel and Schwabl 1992)
# task: step a forest fire with given random numbers and count burning and new trees
# domain: generic
# weight: 5
# split: test
# sizes: ny = 2 4 8 48; nx = 3 5 9 48
# - state: int[ny, nx] uniform(0, 3); 0 empty, 1 tree, 2 fire
# - chance: float[ny, nx] uniform(0.0, 1.0); uniform number of each cell
# - next_state: int[ny, nx] zeros; states after the step
# - ignited: int[1] zeros; trees that caught fire
# - grown: int[1] zeros; trees that grew
# - growth: float = 0.4; chance of a tree on empty ground
# - lightning: float = 0.1; chance of fire without a burning neighbour
@kernel[ny, nx] stencil, random sampling, boundary condition
def burn():
    """Fire burns out, trees catch fire from the four cells beside them, and ground may grow a tree."""
    grid i, j
    guard i < ny and j < nx
    s = state[i, j]
    new = int(0)
    if s == 0:
        if chance[i, j] < growth:
            new = 1
            wp.atomic_add(grown, 0, 1)
    elif s == 1:
        #? near
        near = False
        if i > 0 and state[wp.max(i - 1, 0), j] == 2:
            near = True
        if i < ny - 1 and state[wp.min(i + 1, ny - 1), j] == 2:
            near = True
        if j > 0 and state[i, wp.max(j - 1, 0)] == 2:
            near = True
        if j < nx - 1 and state[i, wp.min(j + 1, nx - 1)] == 2:
            near = True
        #|
        # a clamped neighbour is the tree itself, which does not burn
        near = state[wp.max(i - 1, 0), j] == 2 or state[wp.min(i + 1, ny - 1), j] == 2
        near = near or state[i, wp.max(j - 1, 0)] == 2 or state[i, wp.min(j + 1, nx - 1)] == 2
        #.
        new = 1
        if near or chance[i, j] < lightning:
            new = 2
            wp.atomic_add(ignited, 0, 1)
    next_state[i, j] = new

def reference():
    for i in range(ny):
        for j in range(nx):
            fires = 0
            for y in range(ny):
                for x in range(nx):
                    if abs(y - i) + abs(x - j) == 1 and state[y, x] == 2:
                        fires = fires + 1
            if state[i, j] == 1:
                next_state[i, j] = 1
                if fires > 0 or chance[i, j] < lightning:
                    next_state[i, j] = 2
                    ignited[0] = ignited[0] + 1
            if state[i, j] == 0 and chance[i, j] < growth:
                next_state[i, j] = 1
                grown[0] = grown[0] + 1

# === gray_scott
# source: reaction and diffusion of two substances (Gray and Scott 1985; Pearson 1993)
# task: step the Gray-Scott reaction on a periodic grid
# domain: physics
# weight: 5
# sizes: ny = 1 4 8 48; nx = 2 5 9 48
# - u: float[ny, nx] uniform(0.3, 1.0); concentration of the fuel
# - v: float[ny, nx] uniform(0.0, 0.5); concentration of the catalyst
# - u_next: float[ny, nx] zeros; concentration of the fuel after the step
# - v_next: float[ny, nx] zeros; concentration of the catalyst after the step
# - du: float = 0.16; diffusion of the fuel
# - dv: float = 0.08; diffusion of the catalyst
# - feed: float = 0.06; feed rate
# - kill: float = 0.062; removal rate
# - dt: float = 1.0; time step
@func
def laplacian(c: wp.array2d(dtype=float), i: int, j: int, ny: int, nx: int) -> float:
    """Five-point Laplacian on the torus."""
    south = c[(i + 1) % ny, j]
    north = c[(i + ny - 1) % ny, j]
    east = c[i, (j + 1) % nx]
    west = c[i, (j + nx - 1) % nx]
    return south + north + east + west - 4.0 * c[i, j]

@kernel[ny, nx] stencil, finite difference, explicit update step
def react():
    """Diffusion, reaction u + 2 v -> 3 v, feed and removal."""
    grid i, j
    guard i < ny and j < nx
    let a = u[i, j]
    let b = v[i, j]
    rate = a * b * b
    #? form
    u_next[i, j] = a + dt * (du * laplacian(u, i, j, ny, nx) - rate + feed * (1.0 - a))
    v_next[i, j] = b + dt * (dv * laplacian(v, i, j, ny, nx) + rate - (feed + kill) * b)
    #|
    change_u = du * laplacian(u, i, j, ny, nx) - rate + feed * (1.0 - a)
    change_v = dv * laplacian(v, i, j, ny, nx) + rate - (feed + kill) * b
    u_next[i, j] = a + dt * change_u
    v_next[i, j] = b + dt * change_v
    #.

def reference():
    """Diffusion as an exchange with each neighbour."""
    for i in range(ny):
        for j in range(nx):
            a = u[i, j]
            b = v[i, j]
            p = feed - a * feed - a * b**2.0
            q = a * b**2.0 - b * feed - b * kill
            for d in range(4):
                y = (i + (d % 2) * (d - 2) + ny) % ny
                x = (j + ((d + 1) % 2) * (d - 1) + nx) % nx
                p = p + du * (u[y, x] - a)
                q = q + dv * (v[y, x] - b)
            u_next[i, j] = a + p * dt
            v_next[i, j] = b + q * dt

# === elementary_rule
# source: elementary cellular automata (Wolfram 1983)
# task: run a rule of elementary automata for a few steps, one packed row of sixteen cells per thread
# about: A row is one integer and periodic. Bit b of the rule is the new cell for the three old ones that read b as a binary number.
# domain: generic
# weight: 5
# sizes: num_rows = 1 7 71 300
# - rows: int[num_rows] uniform(0, 65536); rows of cells, sixteen bits each
# - final: int[num_rows] zeros; rows after the last step
# - alive: int[num_rows] zeros; living cells of all steps
# - rule: int = 110; number of the rule
# - num_steps: int = 3; steps
@func
def apply_rule(cells: int, rule: int) -> int:
    """Next row."""
    #? apply
    out = int(0)
    for b in range(16):
        left = (cells >> ((b + 1) % 16)) & 1
        right = (cells >> ((b + 15) % 16)) & 1
        code = 4 * left + 2 * ((cells >> b) & 1) + right
        out = out | (((rule >> code) & 1) << b)
    return out
    #|
    # three copies of the ring
    ring = (cells << 1) | ((cells & 1) << 17) | (cells >> 15)
    out = int(0)
    for b in range(16):
        code = (ring >> b) & 7
        out += ((rule >> code) & 1) << b
    return out
    #.

@kernel[num_rows] bit tricks hash morton, loop reduction
def run_rule():
    """Step and count."""
    r = wp.tid()
    guard r < num_rows
    cells = rows[r]
    count = int(0)
    for t in range(num_steps):
        cells = apply_rule(cells, rule)
        for b in range(16):
            count += (cells >> b) & 1
    final[r] = cells
    alive[r] = count

def reference():
    """Cells by division."""
    for r in range(num_rows):
        final[r] = rows[r]
        for t in range(num_steps):
            old = final[r]
            final[r] = 0
            place = 1
            for b in range(16):
                code = (old // place) % 2 * 2
                up = 1
                for k in range((b + 1) % 16):
                    up = up * 2
                down = 1
                for k in range((b + 15) % 16):
                    down = down * 2
                code = code + (old // up) % 2 * 4 + (old // down) % 2
                unit = 1
                for k in range(code):
                    unit = unit * 2
                cell = (rule // unit) % 2
                final[r] = final[r] + cell * place
                alive[r] = alive[r] + cell
                place = place * 2

# === ant_walks
# source: turmites on a shared board of signs (Langton 1986), with signs that stay
# task: walk ants over a board of signs that turn them left or right, and count their visits
# about: The board is a torus. An ant turns by the sign of its cell and goes one cell ahead. Headings are 0 up, 1 right, 2 down, 3 left.
# domain: generic
# weight: 7
# sizes: num_ants = 1 7 71 200; ny = 2 4 6 16; nx = 3 5 7 16; num_steps = 2 3 5 20
# - signs: int[ny, nx] uniform(0, 2); 1 where ants turn right, they turn left elsewhere
# - start_y: int[num_ants] index(ny); rows where ants start
# - start_x: int[num_ants] index(nx); columns where ants start
# - visits: int[ny, nx] zeros; steps onto each cell
# - place: vec2i[num_ants] zeros; row and column where each ant ends
# - heading: int[num_ants] zeros; headings at the end
@kernel[num_ants] pointer chase or walk, histogram count, scatter add
def walk_ants():
    """Follow the signs."""
    a = wp.tid()
    guard a < num_ants
    y = start_y[a]
    x = start_x[a]
    h = int(0)
    for t in range(num_steps):
        if signs[y, x] == 1:
            h = (h + 1) % 4
        else:
            h = (h + 3) % 4
        #? move
        if h == 0:
            y = (y + ny - 1) % ny
        elif h == 1:
            x = (x + 1) % nx
        elif h == 2:
            y = (y + 1) % ny
        else:
            x = (x + nx - 1) % nx
        #|
        # even headings are along y
        if h % 2 == 0:
            y = (y + h - 1 + ny) % ny
        else:
            x = (x + 2 - h + nx) % nx
        #.
        wp.atomic_add(visits, y, x, 1)
    place[a] = wp.vec2i(y, x)
    heading[a] = h

def reference():
    """Headings as unit steps that a turn exchanges."""
    for a in range(num_ants):
        y = start_y[a]
        x = start_x[a]
        dy = -1
        dx = 0
        for t in range(num_steps):
            turn = 2 * signs[y, x] - 1
            old = dy
            dy = dx * turn
            dx = -old * turn
            y = (y + dy + ny) % ny
            x = (x + dx + nx) % nx
            visits[y, x] = visits[y, x] + 1
        place[a][0] = y
        place[a][1] = x
        heading[a] = 1 + dy
        if dx != 0:
            heading[a] = 2 - dx
