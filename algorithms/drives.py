# === actuator_forces
# source: actuator model with activation dynamics, affine gains and muscles (Todorov et al. 2012; Millard et al. 2013)
# task: compute activation rates and forces of actuators and map them to the joints in many worlds
# about: Dynamics, gain and bias of each actuator are chosen by type. Forces are limited, then multiplied by the moment arms of a sparse transmission.
# domain: physics
# weight: 12
# sizes: num_worlds = 1 2 5 16; num_act = 1 4 9 12; num_dofs = 1 3 7 10; num_moments = 1 7 20 30
# - act_dyntype: int[num_act] uniform(0, 4); dynamics: 0 none, 1 integrator, 2 filter, 3 muscle
# - act_gaintype: int[num_act] uniform(0, 3); gain: 0 fixed, 1 affine, 2 muscle
# - act_biastype: int[num_act] uniform(0, 3); bias: 0 none, 1 affine, 2 muscle
# - act_ctrllimited: int[num_act] uniform(0, 2); 1 where controls are limited
# - act_forcelimited: int[num_act] uniform(0, 2); 1 where forces are limited
# - act_dynprm: vec3[num_act] uniform(0.05, 0.3); time constants of activation and deactivation [s], smoothing; of filters the first is the time constant
# - act_gainprm: vec3[num_act] uniform(0.2, 1.5); constant, slope by length, slope by velocity; of muscles: peak force [N], rest length, shortening speed
# - act_biasprm: vec3[num_act] uniform(-0.5, 0.5); bias: constant, slope by length, slope by velocity; of muscles the first is the peak force [N]
# - act_ctrlrange: vec2[num_act] uniform(0.1, 0.9); half width and centre of the controls
# - act_forcerange: float[num_act] uniform(0.1, 0.8); largest force in either direction [N]
# - act_gear: float[num_act] uniform(0.5, 2.0); gear ratios
# - moment_offsets: int[num_dofs + 1] rows(num_moments); first moment arm of each degree of freedom
# - moment_act: int[num_moments] index(num_act); actuator of each moment arm
# - moment_arm: float[num_moments] uniform(-0.5, 0.5); moment arms [m]
# - ctrl: float[num_worlds, num_act] uniform(0.0, 1.2); controls
# - act: float[num_worlds, num_act] uniform(0.05, 0.95); activations
# - act_length: float[num_worlds, num_act] uniform(0.6, 1.4); lengths [m]
# - act_velocity: float[num_worlds, num_act] uniform(-0.5, 0.5); velocities [m/s]
# - dof_damping: float[num_dofs] uniform(0.0, 0.2); damping of the joints
# - qvel: float[num_worlds, num_dofs] uniform(-1.0, 1.0); joint velocities
# - act_dot: float[num_worlds, num_act] zeros; rates of the activations [1/s]
# - act_force: float[num_worlds, num_act] zeros; forces of the actuators [N]
# - num_clamped: int[num_worlds] zeros; actuators whose force was limited
# - qfrc_actuator: float[num_worlds, num_dofs] zeros; forces on the joints
# - timestep: float = 0.002; time step [s]
@func
def smoothstep(x: float) -> float:
    """Quintic rise from 0 to 1."""
    y = wp.clamp(x, 0.0, 1.0)
    return y * y * y * (y * (6.0 * y - 15.0) + 10.0)

@func
def muscle_time(dctrl: float, tau_act: float, tau_deact: float, smoothing: float) -> float:
    """Time constant between activation and deactivation."""
    if smoothing < 1.0e-3:
        if dctrl > 0.0:
            return tau_act
        return tau_deact
    return tau_deact + (tau_act - tau_deact) * smoothstep(dctrl / smoothing + 0.5)

@func
def muscle_rate(control: float, activation: float, prm: wp.vec3) -> float:
    """Activation dynamics of a muscle."""
    ctrlclamp = wp.clamp(control, 0.0, 1.0)
    actclamp = wp.clamp(activation, 0.0, 1.0)
    tau_act = prm[0] * (0.5 + 1.5 * actclamp)
    tau_deact = prm[1] / (0.5 + 1.5 * actclamp)
    dctrl = ctrlclamp - activation
    tau = muscle_time(dctrl, tau_act, tau_deact, prm[2])
    return dctrl / wp.max(tau, 1.0e-6)

@func
def gain_length(length: float, lmin: float, lmax: float) -> float:
    """Active force over length: parabolas that meet at the optimum."""
    if length < lmin or length > lmax:
        return 0.0
    a = 0.5 * (lmin + 1.0)
    b = 0.5 * (1.0 + lmax)
    if length <= a:
        x = (length - lmin) / (a - lmin)
        return 0.5 * x * x
    elif length <= 1.0:
        x = (1.0 - length) / (1.0 - a)
        return 1.0 - 0.5 * x * x
    elif length <= b:
        x = (length - 1.0) / (b - 1.0)
        return 1.0 - 0.5 * x * x
    x = (lmax - length) / (lmax - b)
    return 0.5 * x * x

@func
def gain_velocity(v: float, fvmax: float) -> float:
    """Active force over velocity; shortening muscles are weaker."""
    y = fvmax - 1.0
    if v <= -1.0:
        return 0.0
    elif v <= 0.0:
        return (v + 1.0) * (v + 1.0)
    elif v <= y:
        return fvmax - (y - v) * (y - v) / y
    return fvmax

@func
def muscle_gain(length: float, velocity: float, prm: wp.vec3) -> float:
    """Force at full activation."""
    L = length / (0.5 + 0.5 * prm[1])
    V = velocity / (0.5 + prm[2])
    return -prm[0] * gain_length(L, 0.5, 1.6) * gain_velocity(V, 1.2)

@func
def muscle_bias(length: float, prm: wp.vec3) -> float:
    """Passive force beyond the rest length."""
    x = length - 1.0
    if x <= 0.0:
        return 0.0
    elif x <= 0.25:
        return -wp.abs(prm[0]) * 8.0 * x * x
    return -wp.abs(prm[0]) * (0.5 + 4.0 * (x - 0.25))

@kernel[num_worlds, num_act] mask or active filter, elementwise map
def actuator_force():
    """Rate of the activation and force of each actuator."""
    worldid, uid = wp.tid()
    guard worldid < num_worlds and uid < num_act
    actuator_length = act_length[worldid, uid]
    actuator_velocity = act_velocity[worldid, uid]
    dyntype = act_dyntype[uid]
    gaintype = act_gaintype[uid]
    biastype = act_biastype[uid]
    dynprm = act_dynprm[uid]
    gainprm = act_gainprm[uid]
    biasprm = act_biasprm[uid]

    # controls within their range
    control = ctrl[worldid, uid]
    if act_ctrllimited[uid] == 1:
        ctrlrange = act_ctrlrange[uid]
        control = wp.clamp(control, ctrlrange[1] - ctrlrange[0], ctrlrange[1] + ctrlrange[0])

    # activation dynamics
    activation = act[worldid, uid]
    rate = float(0.0)
    signal = control
    if dyntype == 1:
        rate = control
        signal = activation
    elif dyntype == 2:
        rate = (control - activation) / wp.max(dynprm[0], 1.0e-6)
        signal = activation
    elif dyntype == 3:
        rate = muscle_rate(control, activation, dynprm)
        signal = activation
    #? early
    if dyntype != 0:
        # activation at the end of the step
        signal = signal + rate * timestep
    #.
    act_dot[worldid, uid] = rate

    # gain
    gain = float(0.0)
    if gaintype == 0:
        gain = gainprm[0]
    elif gaintype == 1:
        gain = gainprm[0] + gainprm[1] * actuator_length + gainprm[2] * actuator_velocity
    elif gaintype == 2:
        gain = muscle_gain(actuator_length, actuator_velocity, gainprm)

    # bias
    bias = float(0.0)
    if biastype == 1:
        bias = biasprm[0] + biasprm[1] * actuator_length + biasprm[2] * actuator_velocity
    elif biastype == 2:
        bias = muscle_bias(actuator_length, biasprm)

    force = gain * signal + bias
    if act_forcelimited[uid] == 1:
        limit = act_forcerange[uid]
        if wp.abs(force) > limit:
            wp.atomic_add(num_clamped, worldid, 1)
        force = wp.clamp(force, -limit, limit)
    act_force[worldid, uid] = force

@kernel[num_worlds, num_dofs] csr row loop, gather, spmv
def map_to_joints():
    """Sparse product of the transmission with the forces, less the damping."""
    worldid, dofid = wp.tid()
    guard worldid < num_worlds and dofid < num_dofs
    rowadr = moment_offsets[dofid]
    rownnz = moment_offsets[dofid + 1] - rowadr
    qfrc = float(0.0)
    for k in range(rownnz):
        sparseid = rowadr + k
        uid = moment_act[sparseid]
        qfrc += moment_arm[sparseid] * act_gear[uid] * act_force[worldid, uid]
    qfrc -= dof_damping[dofid] * qvel[worldid, dofid]
    qfrc_actuator[worldid, dofid] = qfrc

def reference():
    """One actuator after the other, with all curves written out."""
    for w in range(num_worlds):
        for u in range(num_act):
            c = ctrl[w, u]
            if act_ctrllimited[u] == 1:
                low = act_ctrlrange[u][1] - act_ctrlrange[u][0]
                if c < low:
                    c = low
                if c > low + 2.0 * act_ctrlrange[u][0]:
                    c = low + 2.0 * act_ctrlrange[u][0]
            a = act[w, u]
            kind = act_dyntype[u]
            rate = 0.0
            if kind == 1:
                rate = c
            if kind == 2:
                rate = (c - a) / act_dynprm[u][0]
            if kind == 3:
                top = c
                if top > 1.0:
                    top = 1.0
                if top < 0.0:
                    top = 0.0
                scale = 0.5 + 1.5 * a
                x = (top - a) / act_dynprm[u][2] + 0.5
                if x < 0.0:
                    x = 0.0
                if x > 1.0:
                    x = 1.0
                rise = 10.0 * x**3.0 - 15.0 * x**4.0 + 6.0 * x**5.0
                tau = rise * act_dynprm[u][0] * scale + (1.0 - rise) * act_dynprm[u][1] / scale
                rate = (top - a) / tau
            act_dot[w, u] = rate
            signal = c
            if kind > 0:
                signal = a
                #? early
                signal = a + timestep * rate
                #.
            length = act_length[w, u]
            speed = act_velocity[w, u]
            here = np.array([1.0, length, speed])
            gain = act_gainprm[u][0]
            if act_gaintype[u] == 1:
                gain = np.dot(act_gainprm[u], here)
            if act_gaintype[u] == 2:
                s = 2.0 * length / (1.0 + act_gainprm[u][1])
                y = 0.0
                if s > 0.5 and s < 1.6:
                    half = 0.25
                    if s > 1.0:
                        half = 0.3
                    t = abs(s - 1.0) / half
                    y = 1.0 - 0.5 * t * t
                    if t > 1.0:
                        y = 0.5 * (2.0 - t) ** 2.0
                v = speed / (0.5 + act_gainprm[u][2])
                z = 1.2
                if v < 0.2:
                    z = 1.2 - (0.2 - v) ** 2.0 / 0.2
                if v < 0.0:
                    z = 1.0 + 2.0 * v + v * v
                if v < -1.0:
                    z = 0.0
                gain = -act_gainprm[u][0] * y * z
            bias = 0.0
            if act_biastype[u] == 1:
                bias = np.dot(act_biasprm[u], here)
            if act_biastype[u] == 2 and length > 1.0:
                x = length - 1.0
                y = 8.0 * x * x
                if x > 0.25:
                    y = 4.0 * x - 0.5
                bias = -abs(act_biasprm[u][0]) * y
            f = bias + signal * gain
            if act_forcelimited[u] == 1:
                if f > act_forcerange[u]:
                    f = act_forcerange[u]
                    num_clamped[w] = num_clamped[w] + 1
                if f < -act_forcerange[u]:
                    f = -act_forcerange[u]
                    num_clamped[w] = num_clamped[w] + 1
            act_force[w, u] = f
        for d in range(num_dofs):
            qfrc_actuator[w, d] = -dof_damping[d] * qvel[w, d]
            for k in range(moment_offsets[d], moment_offsets[d + 1]):
                u = moment_act[k]
                qfrc_actuator[w, d] = qfrc_actuator[w, d] + act_force[w, u] * act_gear[u] * moment_arm[k]

# === plastic_return
# source: radial return mapping of J2 plasticity with linear hardening (Simo and Hughes 1998, box 3.1)
# task: update stresses and plastic strains of material points with radial return
# about: Symmetric tensors are stored by six components: xx, yy, zz, xy, yz, zx. Shear strains are those of the tensor, not twice as much.
# domain: physics
# weight: 9
# sizes: num_points = 1 7 71 512; num_materials = 1 2 3 4
# - strain_rate: float[num_points, 6] uniform(-0.02, 0.02); strain increments
# - stress: float[num_points, 6] uniform(-0.2, 0.2); stresses, changed in place [GPa]
# - plastic_strain: float[num_points, 6] uniform(-0.01, 0.01); plastic strains, changed in place
# - back_stress: float[num_points, 6] uniform(-0.02, 0.02); centres of the yield surface, changed in place [GPa]
# - eq_strain: float[num_points] uniform(0.0, 0.05); accumulated plastic strains, changed in place
# - material_id: int[num_points] index(num_materials); material of each point
# - active: int[num_points] uniform(0, 2); 1 for points that are simulated
# - young: float[num_materials] uniform(5.0, 20.0); Young's moduli [GPa]
# - poisson: float[num_materials] uniform(0.2, 0.35); Poisson's ratios
# - yield_stress: float[num_materials] uniform(0.1, 0.3); yield stresses [GPa]
# - iso_hardening: float[num_materials] uniform(0.1, 1.0); isotropic hardening moduli [GPa]
# - kin_hardening: float[num_materials] uniform(0.1, 1.0); kinematic hardening moduli [GPa]
# - von_mises: float[num_points] zeros; equivalent stresses after the step [GPa]
# - work: float[num_points] zeros; plastic work of the step [GPa]
# - yielding: int[1] zeros; points that yield
@func
def lame_lambda(e: float, nu: float) -> float:
    """First Lame parameter."""
    return e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))

@func
def shear_modulus(e: float, nu: float) -> float:
    """Second Lame parameter."""
    return 0.5 * e / (1.0 + nu)

@func
def tensor_norm(xx: float, yy: float, zz: float, xy: float, yz: float, zx: float) -> float:
    """Frobenius norm of a symmetric tensor."""
    return wp.sqrt(xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + yz * yz + zx * zx))

@kernel[num_points] fem elasticity, mask or active filter, gather, in place update
def return_mapping():
    """Elastic trial stress, then return to the yield surface along its normal."""
    p = wp.tid()
    guard p < num_points
    # sleeping points keep their state
    if active[p] == 0:
        return
    mat = material_id[p]
    e_mod = young[mat]
    nu = poisson[mat]
    lam = lame_lambda(e_mod, nu)
    mu = shear_modulus(e_mod, nu)
    h_iso = iso_hardening[mat]
    h_kin = kin_hardening[mat]

    # strain increment
    dexx = strain_rate[p, 0]
    deyy = strain_rate[p, 1]
    dezz = strain_rate[p, 2]
    dexy = strain_rate[p, 3]
    deyz = strain_rate[p, 4]
    dezx = strain_rate[p, 5]
    tr_de = dexx + deyy + dezz

    # trial stress
    sxx = stress[p, 0] + lam * tr_de + 2.0 * mu * dexx
    syy = stress[p, 1] + lam * tr_de + 2.0 * mu * deyy
    szz = stress[p, 2] + lam * tr_de + 2.0 * mu * dezz
    sxy = stress[p, 3] + 2.0 * mu * dexy
    syz = stress[p, 4] + 2.0 * mu * deyz
    szx = stress[p, 5] + 2.0 * mu * dezx

    # deviator, relative to the centre of the yield surface
    mean = (sxx + syy + szz) / 3.0
    bxx = back_stress[p, 0]
    byy = back_stress[p, 1]
    bzz = back_stress[p, 2]
    bxy = back_stress[p, 3]
    byz = back_stress[p, 4]
    bzx = back_stress[p, 5]
    b_mean = (bxx + byy + bzz) / 3.0
    xi_xx = sxx - mean - bxx + b_mean
    xi_yy = syy - mean - byy + b_mean
    xi_zz = szz - mean - bzz + b_mean
    xi_xy = sxy - bxy
    xi_yz = syz - byz
    xi_zx = szx - bzx
    xi_norm = tensor_norm(xi_xx, xi_yy, xi_zz, xi_xy, xi_yz, xi_zx)

    # yield function
    radius = wp.sqrt(2.0 / 3.0) * (yield_stress[mat] + h_iso * eq_strain[p])
    f_trial = xi_norm - radius
    if f_trial > 0.0:
        dgamma = f_trial / (2.0 * mu + 2.0 / 3.0 * (h_iso + h_kin))
        inv_norm = 1.0 / xi_norm
        nxx = xi_xx * inv_norm
        nyy = xi_yy * inv_norm
        nzz = xi_zz * inv_norm
        nxy = xi_xy * inv_norm
        nyz = xi_yz * inv_norm
        nzx = xi_zx * inv_norm

        # return along the normal
        scale = 2.0 * mu * dgamma
        sxx -= scale * nxx
        syy -= scale * nyy
        szz -= scale * nzz
        sxy -= scale * nxy
        syz -= scale * nyz
        szx -= scale * nzx

        # the surface moves and grows
        shift = 2.0 / 3.0 * h_kin * dgamma
        back_stress[p, 0] = bxx + shift * nxx
        back_stress[p, 1] = byy + shift * nyy
        back_stress[p, 2] = bzz + shift * nzz
        back_stress[p, 3] = bxy + shift * nxy
        back_stress[p, 4] = byz + shift * nyz
        back_stress[p, 5] = bzx + shift * nzx
        eq_strain[p] = eq_strain[p] + wp.sqrt(2.0 / 3.0) * dgamma
        plastic_strain[p, 0] = plastic_strain[p, 0] + dgamma * nxx
        plastic_strain[p, 1] = plastic_strain[p, 1] + dgamma * nyy
        plastic_strain[p, 2] = plastic_strain[p, 2] + dgamma * nzz
        plastic_strain[p, 3] = plastic_strain[p, 3] + dgamma * nxy
        plastic_strain[p, 4] = plastic_strain[p, 4] + dgamma * nyz
        plastic_strain[p, 5] = plastic_strain[p, 5] + dgamma * nzx
        diag = sxx * nxx + syy * nyy + szz * nzz
        work[p] = dgamma * (diag + 2.0 * (sxy * nxy + syz * nyz + szx * nzx))
        wp.atomic_add(yielding, 0, 1)

    stress[p, 0] = sxx
    stress[p, 1] = syy
    stress[p, 2] = szz
    stress[p, 3] = sxy
    stress[p, 4] = syz
    stress[p, 5] = szx
    mean = (sxx + syy + szz) / 3.0
    dev_norm = tensor_norm(sxx - mean, syy - mean, szz - mean, sxy, syz, szx)
    von_mises[p] = wp.sqrt(1.5) * dev_norm

def reference():
    """Components in a loop, with weight 2 for those off the diagonal."""
    for p in range(num_points):
        if active[p] == 1:
            m = material_id[p]
            g = young[m] / (2.0 + 2.0 * poisson[m])
            lam = 2.0 * g * poisson[m] / (1.0 - 2.0 * poisson[m])
            trace = strain_rate[p, 0] + strain_rate[p, 1] + strain_rate[p, 2]
            for c in range(6):
                stress[p, c] = stress[p, c] + 2.0 * g * strain_rate[p, c]
                if c < 3:
                    stress[p, c] = stress[p, c] + lam * trace
            mean = (stress[p, 0] + stress[p, 1] + stress[p, 2]) / 3.0
            center = (back_stress[p, 0] + back_stress[p, 1] + back_stress[p, 2]) / 3.0
            square = 0.0
            for c in range(6):
                x = stress[p, c] - back_stress[p, c]
                if c < 3:
                    x = x - mean + center
                    square = square + x * x
                else:
                    square = square + 2.0 * x * x
            size = math.sqrt(square)
            limit = math.sqrt(2.0 / 3.0) * (yield_stress[m] + iso_hardening[m] * eq_strain[p])
            if size > limit:
                d = 3.0 * (size - limit) / (6.0 * g + 2.0 * iso_hardening[m] + 2.0 * kin_hardening[m])
                for c in range(6):
                    x = (stress[p, c] - back_stress[p, c]) / size
                    weight = 2.0
                    if c < 3:
                        x = x - (mean - center) / size
                        weight = 1.0
                    stress[p, c] = stress[p, c] - 2.0 * g * d * x
                    back_stress[p, c] = back_stress[p, c] + 2.0 / 3.0 * kin_hardening[m] * d * x
                    plastic_strain[p, c] = plastic_strain[p, c] + d * x
                    work[p] = work[p] + weight * d * x * stress[p, c]
                eq_strain[p] = eq_strain[p] + math.sqrt(2.0 / 3.0) * d
                yielding[0] = yielding[0] + 1
            a = stress[p, 0] - stress[p, 1]
            b = stress[p, 1] - stress[p, 2]
            c0 = stress[p, 2] - stress[p, 0]
            shear = stress[p, 3] ** 2.0 + stress[p, 4] ** 2.0 + stress[p, 5] ** 2.0
            von_mises[p] = math.sqrt(0.5 * (a * a + b * b + c0 * c0) + 3.0 * shear)
