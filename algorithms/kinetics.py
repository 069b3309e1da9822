# === hodgkin_huxley
# source: squid axon model (Hodgkin and Huxley 1952), stepped by the classical Runge-Kutta method
# task: step Hodgkin-Huxley neurons with Runge-Kutta and deliver spikes through synapses
# about: Rates follow the membrane potential. A neuron spikes where its potential passes the threshold from below.
# domain: physics
# weight: 7
# split: test
# sizes: num_neurons = 1 7 71 512; num_synapses = 2 15 150 4096
# - v_mem: float[num_neurons] uniform(-70.0, -30.0); membrane potentials, changed in place [mV]
# - gate_m: float[num_neurons] uniform(0.05, 0.6); activation of sodium, changed in place
# - gate_h: float[num_neurons] uniform(0.2, 0.7); inactivation of sodium, changed in place
# - gate_n: float[num_neurons] uniform(0.2, 0.6); activation of potassium, changed in place
# - i_ext: float[num_neurons] uniform(0.0, 15.0); external currents [uA/cm^2]
# - pre_offsets: int[num_neurons + 1] rows(num_synapses); first synapse of each neuron
# - pre_ids: int[num_synapses] index(num_neurons); presynaptic neurons
# - syn_weight: float[num_synapses] uniform(0.0, 0.3); synaptic weights [uA/cm^2]
# - spiked: int[num_neurons] zeros; 1 where a neuron spiked in this step
# - i_syn: float[num_neurons] zeros; synaptic currents of the next step [uA/cm^2]
# - g_na: float = 120.0; sodium conductance [mS/cm^2]
# - g_k: float = 36.0; potassium conductance [mS/cm^2]
# - g_leak: float = 0.3; leak conductance [mS/cm^2]
# - e_na: float = 50.0; sodium reversal potential [mV]
# - e_k: float = -77.0; potassium reversal potential [mV]
# - e_leak: float = -54.4; leak reversal potential [mV]
# - dt: float = 0.02; time step [ms]
# - threshold: float = -40.0; potential of a spike [mV]
@func
def rate_ratio(x: float) -> float:
    """x / (1 - exp(-x)), with its limit at zero."""
    if wp.abs(x) < 1.0e-4:
        return 1.0 + 0.5 * x
    return x / (1.0 - wp.exp(-x))

@func
def alpha_m(v: float) -> float:
    """Opening rate of sodium activation."""
    return rate_ratio(0.1 * (v + 40.0))

@func
def beta_m(v: float) -> float:
    """Closing rate of sodium activation."""
    return 4.0 * wp.exp(-(v + 65.0) / 18.0)

@func
def alpha_h(v: float) -> float:
    """Opening rate of sodium inactivation."""
    return 0.07 * wp.exp(-(v + 65.0) / 20.0)

@func
def beta_h(v: float) -> float:
    """Closing rate of sodium inactivation."""
    return 1.0 / (1.0 + wp.exp(-0.1 * (v + 35.0)))

@func
def alpha_n(v: float) -> float:
    """Opening rate of potassium activation."""
    return 0.1 * rate_ratio(0.1 * (v + 55.0))

@func
def beta_n(v: float) -> float:
    """Closing rate of potassium activation."""
    return 0.125 * wp.exp(-(v + 65.0) / 80.0)

@func
def gate_rate(alpha: float, beta: float, x: float) -> float:
    """First order kinetics of a gate."""
    return alpha * (1.0 - x) - beta * x

@func
def ionic_current(v: float, m: float, h: float, n: float, gna: float, gk: float, gl: float) -> wp.vec3:
    """Conductances of sodium, potassium and leak."""
    n2 = n * n
    return wp.vec3(gna * m * m * m * h, gk * n2 * n2, gl)

@kernel[num_neurons] explicit update step, time integration, in place update
def step_membrane():
    """One Runge-Kutta step of the potential and three gates."""
    i = wp.tid()
    guard i < num_neurons
    v0 = v_mem[i]
    m0 = gate_m[i]
    h0 = gate_h[i]
    n0 = gate_n[i]
    current = i_ext[i]
    reversal = wp.vec3(e_na, e_k, e_leak)

    # slopes at the start
    g1 = ionic_current(v0, m0, h0, n0, g_na, g_k, g_leak)
    kv1 = current - (g1[0] * (v0 - reversal[0]) + g1[1] * (v0 - reversal[1]) + g1[2] * (v0 - reversal[2]))
    km1 = gate_rate(alpha_m(v0), beta_m(v0), m0)
    kh1 = gate_rate(alpha_h(v0), beta_h(v0), h0)
    kn1 = gate_rate(alpha_n(v0), beta_n(v0), n0)

    # at the middle, with the first slopes
    half = 0.5 * dt
    v1 = v0 + half * kv1
    m1 = m0 + half * km1
    h1 = h0 + half * kh1
    n1 = n0 + half * kn1
    g2 = ionic_current(v1, m1, h1, n1, g_na, g_k, g_leak)
    kv2 = current - (g2[0] * (v1 - reversal[0]) + g2[1] * (v1 - reversal[1]) + g2[2] * (v1 - reversal[2]))
    km2 = gate_rate(alpha_m(v1), beta_m(v1), m1)
    kh2 = gate_rate(alpha_h(v1), beta_h(v1), h1)
    kn2 = gate_rate(alpha_n(v1), beta_n(v1), n1)

    # at the middle again
    v2 = v0 + half * kv2
    m2 = m0 + half * km2
    h2 = h0 + half * kh2
    n2 = n0 + half * kn2
    g3 = ionic_current(v2, m2, h2, n2, g_na, g_k, g_leak)
    kv3 = current - (g3[0] * (v2 - reversal[0]) + g3[1] * (v2 - reversal[1]) + g3[2] * (v2 - reversal[2]))
    km3 = gate_rate(alpha_m(v2), beta_m(v2), m2)
    kh3 = gate_rate(alpha_h(v2), beta_h(v2), h2)
    kn3 = gate_rate(alpha_n(v2), beta_n(v2), n2)

    # at the end
    v3 = v0 + dt * kv3
    m3 = m0 + dt * km3
    h3 = h0 + dt * kh3
    n3 = n0 + dt * kn3
    g4 = ionic_current(v3, m3, h3, n3, g_na, g_k, g_leak)
    kv4 = current - (g4[0] * (v3 - reversal[0]) + g4[1] * (v3 - reversal[1]) + g4[2] * (v3 - reversal[2]))
    km4 = gate_rate(alpha_m(v3), beta_m(v3), m3)
    kh4 = gate_rate(alpha_h(v3), beta_h(v3), h3)
    kn4 = gate_rate(alpha_n(v3), beta_n(v3), n3)

    sixth = dt / 6.0
    v_new = v0 + sixth * (kv1 + 2.0 * kv2 + 2.0 * kv3 + kv4)
    m_new = m0 + sixth * (km1 + 2.0 * km2 + 2.0 * km3 + km4)
    h_new = h0 + sixth * (kh1 + 2.0 * kh2 + 2.0 * kh3 + kh4)
    n_new = n0 + sixth * (kn1 + 2.0 * kn2 + 2.0 * kn3 + kn4)
    v_mem[i] = v_new
    gate_m[i] = wp.clamp(m_new, 0.0, 1.0)
    gate_h[i] = wp.clamp(h_new, 0.0, 1.0)
    gate_n[i] = wp.clamp(n_new, 0.0, 1.0)
    if v0 < threshold and v_new >= threshold:
        spiked[i] = 1

@kernel[num_neurons] csr row loop, gather, mask or active filter
def deliver_spikes():
    """Add the weights of all synapses whose neuron spiked."""
    i = wp.tid()
    guard i < num_neurons
    total = float(0.0)
    for k in range(pre_offsets[i], pre_offsets[i + 1]):
        # silent neurons send nothing
        if spiked[pre_ids[k]] == 0:
            continue
        total += syn_weight[k]
    i_syn[i] = total

def reference():
    """Stages in a loop over the state as one vector."""
    for i in range(num_neurons):
        start = np.array([v_mem[i], gate_m[i], gate_h[i], gate_n[i]])
        state = start
        total = np.array([0.0, 0.0, 0.0, 0.0])
        for stage in range(4):
            v = state[0]
            m = state[1]
            h = state[2]
            n = state[3]
            am = 1.0
            x = 0.1 * v + 4.0
            if abs(x) > 0.0001:
                am = x / (1.0 - math.exp(-x))
            an = 0.1
            y = 0.1 * v + 5.5
            if abs(y) > 0.0001:
                an = 0.1 * y / (1.0 - math.exp(-y))
            flow = i_ext[i] + g_na * m**3.0 * h * (e_na - v) + g_k * n**4.0 * (e_k - v) + g_leak * (e_leak - v)
            rest = v + 65.0
            dm = am - (am + 4.0 * math.exp(-rest / 18.0)) * m
            ah = 0.07 * math.exp(-rest / 20.0)
            dh = ah - (ah + 1.0 / (1.0 + math.exp(3.0 - 0.1 * rest))) * h
            dn = an - (an + 0.125 * math.exp(-rest / 80.0)) * n
            slope = np.array([flow, dm, dh, dn])
            weight = 1.0
            if stage == 1 or stage == 2:
                weight = 2.0
            total = total + weight * slope
            state = start + 0.5 * dt * slope
            if stage == 2:
                state = start + dt * slope
        v_mem[i] = start[0] + total[0] * dt / 6.0
        gate_m[i] = start[1] + total[1] * dt / 6.0
        gate_h[i] = start[2] + total[2] * dt / 6.0
        gate_n[i] = start[3] + total[3] * dt / 6.0
        if start[0] < threshold and v_mem[i] >= threshold:
            spiked[i] = 1
    for i in range(num_neurons):
        for k in range(pre_offsets[i], pre_offsets[i + 1]):
            i_syn[i] = i_syn[i] + syn_weight[k] * float(spiked[pre_ids[k]])
