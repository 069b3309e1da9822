//! Which pieces of code does a person write for a domain? Several lines with typed holes, as in
//! [`super::formulas`].
//!
//! A fragment has a header of its locals: `name:kind=candidate|candidate`, a `*` before those that
//! the code after it may use. `$name` is the local; those with a kind may also fill holes of the
//! lines below.

/// Domain, control-flow depth, locals, lines.
pub type Fragment = (&'static str, u32, &'static str, &'static str);

/// Where domains are named `any`, every program may use the fragment.
pub const FRAGMENTS: &[Fragment] = &[
    // ---- loops that add up
    (
        "any",
        1,
        "*acc:f=total|acc|running|partial k:i=k|step|n_iter",
        "$acc = float(0.0)\nfor $k in range({n}):\n    $acc += {f} * {u}",
    ),
    (
        "any",
        1,
        "*acc:f=series|poly|approximation k:i=k|term term:f=term|contribution|part",
        "$acc = float({c})\nfor $k in range({n}):\n    $term = {f} / float($k + {k})\n    $acc = $acc + $term * {s}",
    ),
    (
        "any",
        1,
        "*acc:p=product|gain|scale k:i=k|stage",
        "$acc = float(1.0)\nfor $k in range(1, {n}):\n    $acc = $acc * (1.0 + {e} * {u} / float($k))",
    ),
    (
        "any",
        1,
        "*best:f=best|peak|largest k:i=k|candidate score:f=score|value|candidate_value",
        "$best = float(-{big})\nfor $k in range({n}):\n    $score = {f} + {s} * float($k)\n    if $score > $best:\n        $best = $score",
    ),
    (
        "any",
        2,
        "*acc:f=acc|filtered|kept k:i=k|lane x:f=x|sample|entry",
        "$acc = float(0.0)\nfor $k in range({n}):\n    $x = {f} - {e} * float($k)\n    if {b}:\n        continue\n    $acc += $x",
    ),
    (
        "any",
        2,
        "*acc:f=table|pair_sum|cross_sum a:i=a|row|p b:i=b|col|q",
        "$acc = float(0.0)\nfor $a in range({n}):\n    for $b in range({n}):\n        $acc += {s} * float($a * {k} + $b)",
    ),
    (
        "any",
        3,
        "*acc:f=masked_sum|block_sum|inner a:i=a|outer b:i=b|inner_index",
        "$acc = float(0.0)\nfor $a in range({n}):\n    for $b in range($a + 1):\n        if ($a + $b) % {k} == 0:\n            $acc += {f}\n        else:\n            $acc -= {u}",
    ),
    (
        "any",
        3,
        "*acc:f=energy_sum|lattice|volume_sum a:i=a|dx b:i=b|dy c:i=c|dz",
        "$acc = float(0.0)\nfor $a in range(-1, 2):\n    for $b in range(-1, 2):\n        for $c in range(-1, 2):\n            $acc += {e} * float($a * $b + $c) * {s}",
    ),
    (
        "any",
        1,
        "*acc:v3=sum_vec|moment|offset_sum k:i=k|corner",
        "$acc = wp.vec3(0.0, 0.0, 0.0)\nfor $k in range({n}):\n    $acc = $acc + {u} * {v3}",
    ),
    // ---- while
    (
        "any",
        1,
        "*x:f=x|residual|level *steps:i=steps|rounds|passes",
        "$x = {f}\n$steps = int(0)\nwhile wp.abs($x) > {e} and $steps < {n}:\n    $x = $x * {half}\n    $steps += 1",
    ),
    (
        "any",
        1,
        "*root:p=root|estimate|guess tries:i=tries|it|iteration",
        "$root = {p}\n$tries = int(0)\nwhile $tries < {n}:\n    $root = 0.5 * ($root + {p} / $root)\n    $tries = $tries + 1",
    ),
    (
        "any",
        2,
        "*value:i=value|state_id|seq *count:i=count|length_of_run|hops",
        "$value = wp.abs({i}) + {k}\n$count = int(0)\nwhile $value > 1 and $count < {many}:\n    if $value % 2 == 0:\n        $value = $value // 2\n    else:\n        $value = ($value * 3 + 1) % {prime}\n    $count += 1",
    ),
    (
        "any",
        2,
        "*low:f=low|left|lower goal:f=goal|target_value high:f=high|right|upper mid:f=mid|middle",
        "$goal = {p}\n$low = float(0.0)\n$high = $goal + 1.0\nwhile $high - $low > 0.0625:\n    $mid = 0.5 * ($low + $high)\n    if $mid * $mid < $goal:\n        $low = $mid\n    else:\n        $high = $mid",
    ),
    (
        "any",
        2,
        "*t:f=t|distance|march *hit:i=hit|found|inside k:i=k|march_step step:p=step|advance",
        "$t = float(0.0)\n$hit = int(0)\nfor $k in range({n}):\n    $step = {p}\n    if $t > {big}:\n        $hit = $k\n        break\n    $t += $step",
    ),
    (
        "any",
        1,
        "*a:i=a|big_part|first b:i=b|small_part|second r:i=r|rest",
        "$a = wp.abs({i}) + {k}\n$b = wp.abs({i}) + 1\nwhile $b > 0:\n    $r = $a % $b\n    $a = $b\n    $b = $r",
    ),
    // ---- branches
    ("any", 1, "*x:f=x|response|level|adjusted", "$x = {f}\nif {b}:\n    $x = {f}"),
    ("any", 1, "*x:f=y|selected|branch_value|outcome", "if {b}:\n    $x = {f}\nelse:\n    $x = {f}"),
    (
        "any",
        1,
        "*x:f=piecewise|band|tier_value",
        "if {f} < {e}:\n    $x = {f}\nelif {f} < {c}:\n    $x = {f}\nelse:\n    $x = {f}",
    ),
    ("any", 1, "*x:v3=chosen|reflected|corrected", "$x = {v3}\nif {b}:\n    $x = $x + {v3}\nelse:\n    $x = $x * {c}"),
    (
        "any",
        2,
        "*x:f=graded|nested_value|decision",
        "$x = {f}\nif {b}:\n    if {b}:\n        $x = $x + {f}\n    else:\n        $x = $x - {f}\nelif {b}:\n    $x = {c} * $x",
    ),
    ("any", 1, "*cls:i=level|bucket|tag|zone", "$cls = int(0)\nif {b}:\n    $cls = {k}\nelif {b}:\n    $cls = {i}"),
    // ---- physics
    (
        "physics",
        0,
        "*d:v3=delta|separation|span *len:p=dist|length|gap *f:v3=spring|pull|elastic",
        "$d = {v3} - {v3}\n$len = wp.length($d) + {e}\n$f = -{p} * ($len - {c}) * ($d / $len)",
    ),
    (
        "physics",
        0,
        "*v:v3=v_next|new_velocity|v_half *x:v3=x_next|new_position|drifted",
        "$v = {v3} + {dt} * {v3}\n$x = {v3} + {dt} * $v",
    ),
    ("physics", 0, "*drag:v3=drag|resistance|air_drag", "$drag = -{e} * {p} * {v3}"),
    (
        "physics",
        0,
        "*ke:f=kinetic|kinetic_energy *pe:f=potential|potential_energy",
        "$ke = 0.5 * {p} * wp.length_sq({v3})\n$pe = {p} * {gravity} * {f}",
    ),
    (
        "physics",
        0,
        "*r2:p=r_sq|dist_sq|r2 *inv:u=inv_r|falloff *s6:f=sr6|attraction *lj:f=pair_energy|lj",
        "$r2 = wp.length_sq({v3}) + {c}\n$inv = 1.0 / (1.0 + $r2)\n$s6 = $inv * $inv * $inv\n$lj = 4.0 * {c} * ($s6 * $s6 - $s6)",
    ),
    (
        "physics",
        1,
        "*x:v3=x_clamped|contact_point|bounced *vn:f=vn|normal_speed",
        "$x = {v3}\n$vn = wp.dot({v3}, {n3})\nif $vn < 0.0:\n    $x = $x - (1.0 + {e}) * $vn * {n3}",
    ),
    (
        "physics",
        1,
        "*pen:f=penetration|depth|overlap *fn:f=normal_force|contact",
        "$pen = {p} - {p}\n$fn = float(0.0)\nif $pen > 0.0:\n    $fn = {p} * $pen + {e} * {f}",
    ),
    (
        "physics",
        0,
        "*q:q=q_next|orientation|new_rotation *w:v3=omega|spin|angular",
        "$w = {v3} + {dt} * {v3}\n$q = wp.normalize({q} + wp.quat($w, 0.0) * {q} * (0.5 * {dt}))",
    ),
    (
        "physics",
        0,
        "*strain:m3=strain|green_strain *stress:m3=stress|pk1 *w:f=energy_density|psi",
        "$strain = 0.5 * (wp.transpose({m3}) * {m3} - wp.identity(n=3, dtype=float))\n$stress = {c} * wp.trace($strain) * wp.identity(n=3, dtype=float) + 2.0 * {c} * $strain\n$w = 0.5 * wp.ddot($stress, $strain)",
    ),
    (
        "physics",
        0,
        "*p:f=pressure|p_state *cs:p=sound_speed|c_s",
        "$p = {c} * ({p} - {c}) * {u}\n$cs = wp.sqrt({c} * {p} / {p})",
    ),
    (
        "physics",
        0,
        "*twist:w=twist|body_velocity *wrench:w=wrench|body_force *power:f=power|work_rate",
        "$twist = wp.spatial_vector({v3}, {v3})\n$wrench = {c} * $twist\n$power = wp.spatial_dot($wrench, {w})",
    ),
    (
        "physics",
        1,
        "*x:f=x|displacement|theta *v:f=v|speed|omega k:i=k|substep acc:f=a|accel",
        "$x = {f}\n$v = {f}\nfor $k in range({n}):\n    $acc = -{c} * wp.sin($x) - {e} * $v\n    $v = $v + 0.02 * $acc\n    $x = $x + 0.02 * $v",
    ),
    (
        "physics",
        0,
        "*lap:f=laplacian|curvature|diffusion *next:f=u_next|advanced",
        "$lap = {f} - 2.0 * {f} + {f}\n$next = {f} + {e} * $lap",
    ),
    // ---- machine learning
    (
        "ml",
        0,
        "*z:f=z|pre_activation|logit *a:u=activation|prob|gate",
        "$z = {c} * {f} + {e}\n$a = 1.0 / (1.0 + wp.exp(-$z))",
    ),
    ("ml", 0, "*x:f=h|hidden|pre *g:f=gelu|activated", "$x = {f}\n$g = 0.5 * $x * (1.0 + wp.erf($x / 1.4142135))"),
    ("ml", 0, "*g:f=swish|silu|gated", "$g = {f} * (1.0 / (1.0 + wp.exp(-{f})))"),
    (
        "ml",
        0,
        "*mean:f=mean|mu *var:p=variance|var *norm:f=normalized|x_hat",
        "$mean = ({f} + {f} + {f}) / 3.0\n$var = ({f} - $mean) * ({f} - $mean) + {e}\n$norm = ({f} - $mean) / wp.sqrt($var)",
    ),
    (
        "ml",
        0,
        "*m:f=m_new|first_moment *v:p=v_new|second_moment *step:f=update|step",
        "$m = {beta} * {f} + (1.0 - {beta}) * {f}\n$v = 0.999 * {p} + 0.001 * {f} * {f} + 0.0001\n$step = -{rate} * $m / wp.sqrt($v)",
    ),
    (
        "ml",
        1,
        "*loss:f=loss|huber|penalty *err:f=err|residual|error",
        "$err = {f} - {f}\nif wp.abs($err) < {c}:\n    $loss = 0.5 * $err * $err\nelse:\n    $loss = {c} * (wp.abs($err) - 0.5 * {c})",
    ),
    ("ml", 1, "*x:f=leaky|elu|prelu", "$x = {f}\nif $x < 0.0:\n    $x = {e} * (wp.exp(wp.max($x, -{k}.0)) - 1.0)"),
    (
        "ml",
        0,
        "*e0:p=e0|exp_a *e1:p=e1|exp_b *p0:u=p0|weight_a|attention",
        "$e0 = wp.exp({s}) + 0.02\n$e1 = wp.exp({s}) + 0.02\n$p0 = $e0 / ($e0 + $e1)",
    ),
    ("ml", 0, "*ce:f=nll|cross_entropy|bce", "$ce = -({u} * wp.log({p}) + {u} * wp.log({p}))"),
    ("ml", 0, "*kl:f=kl|divergence", "$kl = 0.5 * ({p} + {f} * {f} - 1.0 - wp.log({p}))"),
    (
        "ml",
        1,
        "*acc:f=dot_product|projection|attention_score k:i=k|feature|head",
        "$acc = float(0.0)\nfor $k in range({n}):\n    $acc += wp.tanh({f}) * (0.5 + {e} * float($k))",
    ),
    ("ml", 0, "*rbf:u=kernel_value|rbf|similarity", "$rbf = wp.exp(-{p} * ({s} - {s}) * ({s} - {s}))"),
    // ---- graphics
    (
        "graphics",
        0,
        "*n:n3=normal|n *l:n3=light|to_light *diff:u=diffuse|lambert",
        "$n = wp.normalize({v3})\n$l = wp.normalize({v3} - {v3})\n$diff = wp.clamp(wp.dot($n, $l), 0.0, 1.0)",
    ),
    (
        "graphics",
        0,
        "*h:n3=half_dir|halfway *spec:u=specular|highlight",
        "$h = wp.normalize({n3} + {n3})\n$spec = wp.pow(wp.clamp(wp.dot({n3}, $h), 0.05, 1.0), {k}.0)",
    ),
    (
        "graphics",
        0,
        "*c:v3=color|rgb|shaded *lum:f=luminance|luma",
        "$c = {v3} * {u} + {v3} * (1.0 - {u})\n$lum = 0.2126 * $c[0] + 0.7152 * $c[1] + 0.0722 * $c[2]",
    ),
    (
        "graphics",
        0,
        "*sdf:f=sdf|sphere_dist *d2:f=box_dist|slab *un:f=union_dist|blend",
        "$sdf = wp.length({v3}) - {p}\n$d2 = wp.max(wp.abs({v3})) - {p}\n$un = wp.min($sdf, $d2)",
    ),
    (
        "graphics",
        0,
        "*h:u=mix_factor|h *sm:f=smooth_min|blended",
        "$h = wp.clamp(0.5 + 0.5 * ({f} - {f}) / {p}, 0.0, 1.0)\n$sm = wp.lerp({f}, {f}, $h) - {e} * $h * (1.0 - $h)",
    ),
    ("graphics", 0, "*t:v3=tonemapped|mapped", "$t = wp.cw_div({v3}, wp.vec3({p}, {p}, {p}) + wp.abs({v3}))"),
    (
        "graphics",
        0,
        "*fog:u=fog|transmittance *col:v3=fogged|composited",
        "$fog = wp.exp(-{e} * {p})\n$col = wp.lerp({v3}, {v3}, $fog)",
    ),
    (
        "graphics",
        0,
        "*r:v3=reflected|mirror_dir *fr:u=fresnel|schlick *cos:u=cos_theta|facing",
        "$cos = wp.clamp(wp.dot({n3}, {n3}), 0.0, 1.0)\n$fr = {u} + (1.0 - {u}) * wp.pow(1.01 - $cos, 5.0) * 0.0\n$r = {v3} - 2.0 * wp.dot({v3}, {n3}) * {n3}",
    ),
    (
        "graphics",
        1,
        "*amp:f=fbm|turbulence|height k:i=octave|k scale:f=frequency|freq",
        "$amp = float(0.0)\n$scale = float(1.0)\nfor $k in range({n}):\n    $amp += wp.noise(wp.rand_init({k}), {v2} * $scale) / $scale\n    $scale = $scale * 2.0",
    ),
    (
        "graphics",
        0,
        "*st:r=rng|state *jit:v2=jitter|offset2 *u:u=u_sample|xi",
        "$st = wp.rand_init({k}, {i})\n$jit = wp.sample_unit_square($st)\n$u = wp.randf($st)",
    ),
    (
        "graphics",
        0,
        "*st:r=rng|state *dir:v3=bounce|scatter|sample_dir",
        "$st = wp.rand_init({k}, {i})\n$dir = wp.sample_unit_hemisphere_surface($st)",
    ),
    (
        "graphics",
        0,
        "*st:r=rng|state *p:v2=lens|aperture *ring:v2=rim|ring_point",
        "$st = wp.rand_init({k}, {i})\n$p = wp.sample_unit_disk($st)\n$ring = wp.sample_unit_ring($st)",
    ),
    // ---- geometry
    (
        "geometry",
        0,
        "*e1:v3=e1|edge_a *e2:v3=e2|edge_b *n:v3=face_normal|area_vec *area:p=area|tri_area",
        "$e1 = {v3} - {v3}\n$e2 = {v3} - {v3}\n$n = wp.cross($e1, $e2)\n$area = 0.5 * wp.length($n) + 0.02",
    ),
    (
        "geometry",
        0,
        "*t:u=t|param *c:v3=closest|nearest",
        "$t = wp.clamp(wp.dot({v3} - {v3}, {v3}) / {p}, 0.0, 1.0)\n$c = {v3} + $t * ({v3} - {v3})",
    ),
    (
        "geometry",
        0,
        "*d:f=plane_dist|signed_dist *pr:v3=projected|foot",
        "$d = wp.dot({v3}, {n3}) - {c}\n$pr = {v3} - $d * {n3}",
    ),
    (
        "geometry",
        0,
        "*rot:m3=rotation|frame *p:v3=rotated|local",
        "$rot = wp.quat_to_matrix(wp.quat_from_axis_angle({n3}, {f}))\n$p = $rot * {v3}",
    ),
    (
        "geometry",
        0,
        "*x:t=pose|frame_t *p:v3=world|moved",
        "$x = wp.transform({v3}, {q})\n$p = wp.transform_point($x, {v3})",
    ),
    (
        "geometry",
        0,
        "*u:u=bary_u|u *v:u=bary_v|v *p:v3=interpolated|on_face",
        "$u = {u}\n$v = {u} * (1.0 - $u)\n$p = $u * {v3} + $v * {v3} + (1.0 - $u - $v) * {v3}",
    ),
    (
        "geometry",
        1,
        "*cov:m3=covariance|inertia k:i=k|neighbor d:v3=d|centered",
        "$cov = wp.mat33()\nfor $k in range({n}):\n    $d = {v3} - float($k) * {n3}\n    $cov = $cov + wp.outer($d, $d)",
    ),
    (
        "geometry",
        0,
        "*bb:v3=extent|box_size *vol:f=volume|box_volume",
        "$bb = wp.max({v3}, {v3}) - wp.min({v3}, {v3})\n$vol = $bb[0] * $bb[1] * $bb[2]",
    ),
    (
        "geometry",
        0,
        "*b:v3=st|edge_params *gap:f=edge_gap|clearance",
        "$b = wp.closest_point_edge_edge({v3}, {v3}, {v3}, {v3}, 0.0001)\n$gap = $b[2]",
    ),
    ("geometry", 0, "*o:i=overlaps|intersecting", "$o = wp.intersect_tri_tri({v3}, {v3}, {v3}, {v3}, {v3}, {v3})"),
    (
        "geometry",
        0,
        "*ang:f=angle|dihedral",
        "$ang = wp.atan2(wp.length(wp.cross({v3}, {n3})) + 0.02, wp.dot({v3}, {n3}))",
    ),
    // ---- signal
    (
        "signal",
        1,
        "*y:f=filtered|fir|smoothed k:i=tap|k",
        "$y = float(0.0)\nfor $k in range({n}):\n    $y += {f} * wp.cos({c} * float($k)) * {e}",
    ),
    ("signal", 0, "*w:u=hann|window *y:f=windowed|tapered", "$w = 0.5 - 0.5 * wp.cos(6.2831855 * {u})\n$y = $w * {f}"),
    (
        "signal",
        1,
        "*re:f=re|real_part *im:f=im|imag_part k:i=k|bin_index ph:f=phase|angle",
        "$re = float(0.0)\n$im = float(0.0)\nfor $k in range({n}):\n    $ph = -6.2831855 * float($k) * {u}\n    $re += {f} * wp.cos($ph)\n    $im += {f} * wp.sin($ph)",
    ),
    (
        "signal",
        0,
        "*m:p=magnitude|amplitude *db:f=decibels|level_db",
        "$m = wp.sqrt({f} * {f} + {f} * {f} + 0.001)\n$db = 20.0 * wp.log10($m)",
    ),
    ("signal", 0, "*y:f=lowpass|ema|iir", "$y = {beta} * {f} + (1.0 - {beta}) * {f}"),
    ("signal", 0, "*q:f=quantized|snapped", "$q = wp.round({f} * {k}.0) / {k}.0"),
    (
        "signal",
        0,
        "*osc:s=carrier|oscillator *y:f=modulated|mixed",
        "$osc = wp.sin(6.2831855 * {f} + {c})\n$y = $osc * (1.0 + {e} * {f})",
    ),
    // ---- random numbers
    (
        "any",
        0,
        "*st:r=rng|state *x:f=noise_term|draw|sample",
        "$st = wp.rand_init({k}, {i})\n$x = {f} + {e} * wp.randf($st, -1.0, 1.0)",
    ),
    ("any", 0, "*st:r=rng|state *x:f=perturbed|noisy", "$st = wp.rand_init({k}, {i})\n$x = {f} + {e} * wp.randn($st)"),
    ("any", 0, "*st:r=rng|state *x:i=pick|choice|slot", "$st = wp.rand_init({k}, {i})\n$x = wp.randi($st, 0, {n})"),
    (
        "any",
        0,
        "*st:r=rng|state *p:v3=jittered|seed_point",
        "$st = wp.rand_init({k}, {i})\n$p = {v3} + {e} * wp.sample_unit_sphere($st)",
    ),
    (
        "any",
        0,
        "*st:r=rng|state *p:v3=shell_point|launch_dir",
        "$st = wp.rand_init({k}, {i})\n$p = wp.sample_unit_sphere_surface($st) + wp.sample_unit_cube($st)",
    ),
    ("any", 0, "*st:r=rng|state *p:v2=bary|tri_point", "$st = wp.rand_init({k}, {i})\n$p = wp.sample_triangle($st)"),
    ("any", 0, "*st:r=rng|state *n:i=arrivals|events", "$st = wp.rand_init({k}, {i})\n$n = int(wp.poisson($st, {c}))"),
    (
        "any",
        0,
        "*st:r=rng|state *n:i=bits|hashed",
        "$st = wp.rand_init({k}, {i})\n$n = int(wp.randu($st) & wp.uint32(255))",
    ),
    (
        "any",
        0,
        "*st:r=rng|state *d:v3=hemi|cone_dir",
        "$st = wp.rand_init({k}, {i})\n$d = wp.sample_unit_hemisphere($st)",
    ),
    // ---- decompositions
    (
        "geometry",
        0,
        "*q:m3=basis|ortho *r:m3=upper|tri",
        "$q, $r = wp.qr3({m3} + {k}.0 * wp.identity(n=3, dtype=float))",
    ),
    (
        "physics",
        0,
        "*u:m3=u_mat|left *s:v3=sigma|stretches *v:m3=v_mat|right_basis *rot:m3=polar|rotation",
        "$u, $s, $v = wp.svd3(wp.mat33({c}, {e}, 0.1, 0.2, {c} + 2.0, 0.3, {e}, 0.1, {c} + 4.0))\n$rot = $u * wp.transpose($v)",
    ),
    (
        "geometry",
        0,
        "*ax:v3=axis|rot_axis *an:f=angle|turn",
        "$ax, $an = wp.quat_to_axis_angle(wp.quat_from_axis_angle({n3}, {c}))",
    ),
    ("geometry", 0, "*rpy:v3=rpy|euler", "$rpy = wp.quat_to_rpy(wp.quat_rpy({e} * {s}, {e} * {s}, {e} * {s}))"),
];
